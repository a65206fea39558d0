import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { catalog, imageChunkBytes, maxImageBytes } from '@plant-shop/contracts/catalog';
import { DomainError } from '@plant-shop/contracts/errors';
import { fake } from '@plant-shop/service-testing/service';
import { until } from '@plant-shop/testing/until';
import { publicUrl, type Shop, startShop, userId } from '../gateway.spec.fixture.js';

const uploadId = userId(1);
const imageId = userId(2);
const sha256 = 'a'.repeat(64);
const boundary = 'xYzZY';

interface Part {
  readonly name: string;
  readonly content: string | Buffer;
  readonly filename?: string;
  readonly type?: string;
}

function multipart(...parts: readonly Part[]): Buffer {
  const pieces = parts.flatMap(({ name, content, filename, type }) => [
    Buffer.from(
      `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${filename === undefined ? '' : `; filename="${filename}"`}\r\n` +
        `${type === undefined ? '' : `content-type: ${type}\r\n`}\r\n`,
    ),
    Buffer.from(content),
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]);
}

/** Without the name of the first part. */
const unnamed = (body: Buffer): Buffer => Buffer.from(body.toString('latin1').replace(/; name="[^"]*"/, ''), 'latin1');

const fileOf = (content: string | Buffer): Part => ({ name: 'file', content, filename: 'fern.png', type: 'image/png' });
/** The start of a body, up to the file's content. */
const opening = multipart(fileOf('')).subarray(0, -Buffer.byteLength(`\r\n--${boundary}--\r\n`));
const text = (content: string): Part => ({ name: 'additionalMetadata', content });

/** Waits until the value has not changed for half a second, and returns it. */
async function settled(read: () => number): Promise<number> {
  for (let last = read(), same = 0; ; ) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    const now = read();
    same = now === last ? same + 1 : 0;
    last = now;
    if (same === 10) return now;
  }
}

const addressOf = (shop: Shop): [number, string] => {
  const { hostname, port } = new URL(shop.gateway.url);
  return [Number(port), hostname];
};

describe('images at the gateway', () => {
  let shop: Shop;
  let written: Buffer[];
  let finished: number;
  let shown = true;
  let begun: number;
  let stored: Buffer;
  let refusal: DomainError | undefined;
  /** While pending, the catalog acknowledges no chunk. */
  let held: Promise<unknown>;
  let waiting = 0;
  let maxWaiting = 0;
  let chunksRead: number;
  /** The chunk that cannot be read. */
  let lost: number | undefined;

  beforeAll(async () => {
    shop = await startShop({
      catalog: [
        fake(catalog.beginImage, ({ plantId }) => {
          if (plantId === 404) throw new DomainError('plant-not-found', 'There is no plant 404.');
          begun++;
          return { uploadId };
        }),
        fake(catalog.writeImageChunk, async ({ index, data }) => {
          maxWaiting = Math.max(maxWaiting, ++waiting);
          await held;
          waiting--;
          if (refusal) throw refusal;
          const chunk = Buffer.from(data, 'base64');
          written[index] = chunk;
          return { bytes: chunk.length };
        }),
        fake(catalog.finishImage, () => {
          finished++;
          return { imageId, url: `${publicUrl}/v3/images/${imageId}`, shown };
        }),
        fake(catalog.getImage, (payload) => {
          if (payload.imageId !== imageId) throw new DomainError('image-not-found', 'There is no such image.');
          return {
            contentType: 'image/png',
            disposition: 'inline' as const,
            bytes: stored.length,
            chunks: Math.ceil(stored.length / imageChunkBytes),
            sha256,
          };
        }),
        fake(catalog.readImageChunk, ({ index }) => {
          chunksRead++;
          if (index === lost) throw new DomainError('image-not-found', 'The image was deleted.');
          return { data: stored.subarray(index * imageChunkBytes, (index + 1) * imageChunkBytes).toString('base64') };
        }),
      ],
    });
    shop.identity.addCredential('key', { kind: 'apiKey' });
  });
  afterAll(() => shop.stop());
  beforeEach(() => {
    written = [];
    finished = begun = chunksRead = maxWaiting = 0;
    shown = true;
    held = Promise.resolve();
    refusal = lost = undefined;
    stored = Buffer.from('a small image');
  });

  const upload = (body: Buffer, { plantId = '7', type = `multipart/form-data; boundary=${boundary}` } = {}): Promise<Response> =>
    shop.send('POST', `/v3/plant/${plantId}/uploadImage`, body, { api_key: 'key', 'content-type': type });

  describe('uploading', () => {
    it.each([
      ['text before the file', [text('a fern'), fileOf('image')]],
      ['the file before the text', [fileOf('image'), text('a fern')]],
    ])('accepts %s', async (_, parts) => {
      const response = await upload(multipart(...parts));
      expect(await response.json()).toEqual({
        code: 200,
        type: 'SUCCESS',
        message: `additionalMetadata: a fern; url: ${publicUrl}/v3/images/${imageId}`,
        imageUrl: `${publicUrl}/v3/images/${imageId}`,
        shown: true,
      });
      expect(Buffer.concat(written).toString()).toBe('image');
    });

    it('says why a file is not shown', async () => {
      shown = false;
      const answer = (await (await upload(multipart(fileOf('%PDF-1.7')))).json()) as object;
      expect(answer).toMatchObject({ shown: false, notShownBecause: expect.stringContaining('no JPEG'), imageUrl: `${publicUrl}/v3/images/${imageId}` });
    });

    it('accepts the file as the body, with its text in the query, as Petstore v3 sends it (slow)', async () => {
      const send = (query: string, body: Buffer): Promise<Response> =>
        shop.send('POST', `/v3/plant/7/uploadImage${query}`, body, { api_key: 'key', 'content-type': 'application/octet-stream' });
      const content = randomBytes(imageChunkBytes + 5);
      const response = await send('?additionalMetadata=a+fern', content);
      expect(await response.json()).toMatchObject({ message: `additionalMetadata: a fern; url: ${publicUrl}/v3/images/${imageId}` });
      expect(Buffer.concat(written).equals(content)).toBe(true);
      expect((await send('', Buffer.alloc(0))).status).toBe(400);
      expect((await send(`?additionalMetadata=${'x'.repeat(1_001)}`, content)).status).toBe(400);
      expect((await send('?additionalMetadata=a&additionalMetadata=b', content)).status).toBe(400);
      expect((await send('', Buffer.alloc(maxImageBytes + 1))).status).toBe(413);
      expect(finished).toBe(1);
    });

    it('accepts a file without text', async () => {
      const response = await upload(multipart(fileOf('image')));
      expect(await response.json()).toMatchObject({ message: `additionalMetadata: ; url: ${publicUrl}/v3/images/${imageId}` });
    });

    it('forwards a large file unchanged, in chunks that are acknowledged one by one', async () => {
      const content = randomBytes(5 * imageChunkBytes + 17);
      expect((await upload(multipart(fileOf(content)))).status).toBe(200);
      expect(written.map(({ length }) => length)).toEqual([...Array<number>(5).fill(imageChunkBytes), 17]);
      expect(Buffer.concat(written).equals(content)).toBe(true);
      expect({ maxWaiting, begun, finished }).toEqual({ maxWaiting: 1, begun: 1, finished: 1 });
    });

    it('accepts a file of exactly 10 MiB and refuses one byte more (slow)', async () => {
      expect((await upload(multipart(fileOf(Buffer.alloc(maxImageBytes))))).status).toBe(200);
      written = [];
      const response = await upload(multipart(fileOf(Buffer.alloc(maxImageBytes + 1))));
      expect(response.status).toBe(413);
      expect(await response.json()).toMatchObject({ code: 'payload-too-large' });
      expect(finished).toBe(1);
    }, 20_000);

    it('refuses an excessive Content-Length before reading the body', async () => {
      const answer = await exchange('content-length: 99999999\r\n', '');
      expect(answer).toContain('HTTP/1.1 413');
      expect(begun).toBe(0);
    });

    it.each<[string, Buffer, number, string, string | undefined]>([
      ['no file', multipart(text('a fern')), 400, 'invalid-input', '/file'],
      ['no parts', multipart(), 400, 'invalid-input', '/file'],
      ['an empty file', multipart(fileOf('')), 400, 'invalid-input', '/file'],
      ['a text field instead of a file', multipart({ name: 'file', content: 'x' }), 400, 'invalid-input', '/file'],
      ['two files', multipart(fileOf('a'), fileOf('b')), 400, 'invalid-input', '/file'],
      ['two texts', multipart(text('a'), text('b'), fileOf('a')), 400, 'invalid-input', '/additionalMetadata'],
      ['a text of 1,001 characters', multipart(text('x'.repeat(1_001)), fileOf('a')), 400, 'invalid-input', '/additionalMetadata'],
      ['a text of 20,000 characters', multipart(text('x'.repeat(20_000)), fileOf('a')), 400, 'invalid-input', '/additionalMetadata'],
      ['a text with a NUL', multipart(text('x\0'), fileOf('a')), 400, 'invalid-input', '/additionalMetadata'],
      ['an unknown text', multipart({ name: 'metadata', content: 'a fern' }, fileOf('a')), 400, 'invalid-input', '/metadata'],
      ['an unknown file', multipart(fileOf('image'), { name: 'z', content: 'zz', filename: 'z.bin' }), 400, 'invalid-input', '/z'],
      ['a part named __proto__', multipart({ name: '__proto__', content: 'x' }, fileOf('a')), 400, 'malformed-request', undefined],
      ['a text without a name', unnamed(multipart(text('x'), fileOf('a'))), 400, 'malformed-request', undefined],
      ['a file without a name', unnamed(multipart(fileOf('a'))), 400, 'malformed-request', undefined],
      ['a hundred parts', multipart(...Array.from({ length: 100 }, (_, n) => ({ name: `p${n}`, content: 'x' })), fileOf('a')), 400, 'invalid-input', '/p0'],
      ['a body that is cut off', multipart(fileOf('image')).subarray(0, -20), 400, 'malformed-request', undefined],
      ['a body with another boundary', Buffer.from('--other\r\n\r\nx\r\n--other--\r\n'), 400, 'malformed-request', undefined],
      ['an empty body', Buffer.alloc(0), 400, 'invalid-input', '/file'],
    ])('refuses %s, and finishes nothing', async (_, body, status, code, pointer) => {
      const response = await upload(body);
      expect(response.status).toBe(status);
      const problem = (await response.json()) as { errors?: unknown[] };
      expect(problem).toMatchObject({ code });
      if (pointer !== undefined) expect(problem.errors).toEqual([{ pointer, detail: expect.any(String) }]);
      expect(finished).toBe(0);
    });

    it('refuses a text that is too long even after the file', async () => {
      expect((await upload(multipart(fileOf('a'), text('x'.repeat(1_001))))).status).toBe(400);
      expect(finished).toBe(0);
    });

    it.each([
      ['no boundary', 'multipart/form-data', 400],
      ['another kind of multipart', `multipart/mixed; boundary=${boundary}`, 415],
    ])('refuses %s', async (_, type, status) => {
      expect((await upload(multipart(fileOf('a')), { type })).status).toBe(status);
    });

    it.each([
      ['404', 404, 'plant-not-found'],
      ['abc', 400, 'invalid-input'],
    ])('refuses the plant id %s', async (plantId, status, code) => {
      const response = await upload(multipart(fileOf(Buffer.alloc(3 * imageChunkBytes))), { plantId });
      expect(response.status).toBe(status);
      expect(await response.json()).toMatchObject({ code });
    });

    it('stops when the catalog refuses a chunk', async () => {
      refusal = new DomainError('image-type-refused', 'HTML is never stored.');
      const response = await upload(multipart(fileOf(Buffer.alloc(3 * imageChunkBytes))));
      expect(response.status).toBe(415);
      expect(await response.json()).toMatchObject({ code: 'image-type-refused' });
      expect(finished).toBe(0);
    });

    it('reads no faster than the catalog acknowledges', async () => {
      const { promise, resolve: release } = Promise.withResolvers<undefined>();
      held = promise;
      const socket = connect(...addressOf(shop));
      socket.write(head(`content-length: ${9 * 1024 * 1024}\r\n`));
      socket.write(opening);
      socket.write(Buffer.alloc(9 * 1024 * 1024 - 1_000));
      await until(() => waiting === 1);
      const accepted = await settled(() => socket.bytesWritten - socket.writableLength);
      socket.destroy();
      release(undefined);
      expect(waiting).toBe(1);
      expect(accepted).toBeLessThan(8 * 1024 * 1024);
    });

    it('is abandoned when the client disconnects, and the next upload works (slow)', async () => {
      for (let n = 0; n < 5; n++) {
        const socket = connect(...addressOf(shop));
        await once(socket, 'connect');
        socket.write(head('content-length: 5000000\r\n'));
        socket.write(opening);
        socket.write(Buffer.alloc(2 * imageChunkBytes));
        await until(() => written.length > 0);
        written = [];
        socket.destroy();
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(finished).toBe(0);
      written = [];
      expect((await upload(multipart(fileOf('image')))).status).toBe(200);
    });
  });

  describe('serving', () => {
    const image = (headers = {}): Promise<Response> => shop.get(`/v3/images/${imageId}`, headers);

    it('forbids browsers to run uploads, and lets every cache store them for ever', async () => {
      const response = await image();
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'content-type': 'image/png',
        'content-length': '13',
        'content-disposition': 'inline',
        'content-security-policy': "default-src 'none'; sandbox",
        'x-content-type-options': 'nosniff',
        'cache-control': 'public, max-age=31536000, immutable',
        etag: `"${sha256}"`,
      });
      expect(await response.text()).toBe('a small image');
    });

    it('sends a large image whole', async () => {
      stored = randomBytes(4 * imageChunkBytes + 5);
      const received = Buffer.from(await (await image()).arrayBuffer());
      expect(received.equals(stored)).toBe(true);
    });

    it('answers HEAD without reading the image', async () => {
      const response = await fetch(`${shop.gateway.url}/v3/images/${imageId}`, { method: 'HEAD' });
      expect(response.headers.get('content-length')).toBe('13');
      expect(chunksRead).toBe(0);
    });

    it('answers 304 to a client that has the image', async () => {
      const response = await image({ 'if-none-match': `"${sha256}"` });
      expect(response.status).toBe(304);
      expect(chunksRead).toBe(0);
    });

    it('answers 404 for another image', async () => {
      const response = await shop.get(`/v3/images/${userId(3)}`);
      expect(response.status).toBe(404);
      expect(response.headers.get('cache-control')).toBe('no-store');
    });

    it('sends no headers of the image with an error if the first chunk cannot be read', async () => {
      lost = 0;
      const response = await image({ range: 'bytes=1-2' });
      expect(response.status).toBe(404);
      expect(response.headers.get('content-type')).toContain('application/problem+json');
      expect(response.headers.get('cache-control')).toBe('no-store');
      for (const name of ['etag', 'content-disposition', 'accept-ranges', 'content-range', 'cross-origin-resource-policy']) {
        expect([name, response.headers.get(name)]).toEqual([name, null]);
      }
    });

    it('aborts the response if a later chunk cannot be read, so that no client takes a part for the whole', async () => {
      stored = Buffer.alloc(3 * imageChunkBytes);
      lost = 1;
      await expect(image().then((response) => response.arrayBuffer())).rejects.toThrow();
    });

    it('reads no further than the client consumes (slow)', async () => {
      stored = Buffer.alloc(40 * imageChunkBytes);
      const { hostname, port } = new URL(shop.gateway.url);
      const request = httpRequest({ hostname, port, path: `/v3/images/${imageId}` }).end();
      const [response] = (await once(request, 'response')) as [NodeJS.ReadableStream & { destroy: () => void }];
      response.pause();
      await until(() => chunksRead > 0);
      expect(await settled(() => chunksRead)).toBeLessThan(35);
      response.destroy();
      // Chunks in flight at the disconnect may still arrive; no further ones are read.
      expect(await settled(() => chunksRead)).toBeLessThan(37);
    });
  });

  const head = (more: string): string =>
    `POST /v3/plant/7/uploadImage HTTP/1.1\r\nhost: x\r\napi_key: key\r\ncontent-type: multipart/form-data; boundary=${boundary}\r\n${more}\r\n`;

  async function exchange(headers: string, body: string): Promise<string> {
    const socket = connect(...addressOf(shop));
    socket.write(head(headers) + body);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    return answer.toString();
  }
});
