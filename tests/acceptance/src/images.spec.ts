import { describe, expect, it } from '@jest/globals';
import { checked, createPlant, fresh, gatewayUrl, ok, type Plant, problem, send, staff } from './shop.js';

interface ApiResponse {
  code: number;
  type: string;
  message: string;
}

type Part = [name: string, value: string | Blob, filename?: string];

/** Sends a form with its parts in the given order. */
const upload = (plantId: number, ...parts: readonly (Part | { readonly key: string })[]) => {
  const form = new FormData();
  const headers: Record<string, string> = {};
  for (const part of parts) {
    if ('key' in part) headers['idempotency-key'] = part.key;
    else if (typeof part[1] === 'string') form.append(part[0], part[1]);
    else form.append(part[0], part[1], part[2] ?? 'photo.png');
  }
  return send<ApiResponse>('POST', `/v3/plant/${plantId}/uploadImage`, { as: staff, body: form, headers });
};
const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(700_000, 7)]);
const blob = (bytes: Uint8Array | string) => new Blob([typeof bytes === 'string' ? bytes : new Uint8Array(bytes)]);
const photosOf = async (id: number) => (await ok(send<Plant>('GET', `/v3/plant/${id}`))).photoUrls;

describe('images of plants', () => {
  it.each([
    ['after', [['file', blob(png)], ['additionalMetadata', 'from the greenhouse']]],
    ['before', [['additionalMetadata', 'from the greenhouse'], ['file', blob(png)]]],
  ] as const)('an image with its metadata %s it is added to the plant and served unchanged, with safe headers', async (_, parts) => {
    const { id } = await createPlant();
    const { code, type, message } = await ok(upload(id, ...parts.map(([name, value]) => [name, value] as [string, string | Blob])));
    expect({ code, type }).toEqual({ code: 200, type: 'SUCCESS' });
    const url = /^additionalMetadata: from the greenhouse; url: (http\S+)$/.exec(message)?.[1] ?? message;
    expect(await photosOf(id)).toEqual([url]);

    const response = await fetch(url);
    expect(Buffer.from(await response.arrayBuffer()).equals(png)).toBe(true);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'image/png',
      'x-content-type-options': 'nosniff',
      'content-security-policy': expect.stringContaining('sandbox'),
      'cache-control': expect.stringContaining('immutable'),
      etag: expect.stringMatching(/^"[0-9a-f]{64}"$/),
    });
  });

  it('another file is stored as an attachment and never served as active content', async () => {
    const { id } = await createPlant();
    const { message } = await ok(upload(id, ['file', blob('just words'), 'a.html']));
    const response = await fetch(message.split('url: ')[1] ?? '');
    expect(response.headers.get('content-type')).toBe('application/octet-stream');
    expect(response.headers.get('content-disposition')).toMatch(/^attachment/);
    expect(await photosOf(id)).toEqual([]);
  });

  it('ranges of an image are served, and one beyond its end is 416', async () => {
    const { id } = await createPlant();
    const { message } = await ok(upload(id, ['file', blob(png)]));
    const { pathname } = new URL(message.split('url: ')[1] ?? '');
    const read = async (range: string) => {
      const response = await fetch(gatewayUrl() + pathname, { headers: { range } });
      await checked('GET', pathname, response.clone());
      return { status: response.status, body: Buffer.from(await response.arrayBuffer()) };
    };
    const middle = await read('bytes=262140-262150');
    expect(middle.status).toBe(206);
    expect(middle.body.equals(png.subarray(262_140, 262_151))).toBe(true);
    expect((await read('bytes=-4')).body.equals(png.subarray(-4))).toBe(true);
    expect((await read(`bytes=${png.length}-`)).status).toBe(416);
  });

  it('an upload that is repeated with its Idempotency-Key makes one image', async () => {
    const { id } = await createPlant();
    const key = fresh('upload');
    const send = (content: Uint8Array) => upload(id, ['file', blob(content)], ['additionalMetadata', 'once'], { key });
    const first = await send(png);
    const again = await send(png);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(await photosOf(id)).toHaveLength(1);
    await problem(send(Buffer.concat([png, png])), 422, 'idempotency-key-reused');
  });

  it.each(['<html><script>alert(1)</script>', '  <!DOCTYPE html>', '<?xml version="1.0"?><svg/>', '<svg onload=alert(1)>'])(
    'active content is refused: %s',
    async (content) => {
      const { id } = await createPlant();
      await problem(upload(id, ['file', blob(content)]), 415, 'image-type-refused');
    },
  );

  it('a missing or too large file, an unknown plant and a body that is not a form are refused', async () => {
    const { id } = await createPlant();
    await problem(upload(id, ['additionalMetadata', 'x']), 400, 'invalid-input');
    await problem(upload(id, ['file', blob(Buffer.alloc(10 * 1024 * 1024 + 1, 1))]), 413, 'payload-too-large');
    await problem(upload(999_999_999_999, ['file', blob(png)]), 404, 'plant-not-found');
    await problem(send('POST', `/v3/plant/${id}/uploadImage`, { as: staff, json: {} }), 415, 'unsupported-media-type');
    await problem(send('GET', '/v3/images/00000000-0000-4000-8000-000000000000'), 404, 'image-not-found');
  });
});
