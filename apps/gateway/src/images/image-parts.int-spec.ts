import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { catalog, imageChunkBytes } from '@plant-shop/contracts/catalog';
import { fake } from '@plant-shop/service-testing/service';
import { publicUrl, type Shop, startShop, userId } from '../gateway.spec.fixture.js';

const imageId = userId(2);
const etag = `"${'a'.repeat(64)}"`;
const stored = randomBytes(3 * imageChunkBytes + 100);

describe('ranges of images', () => {
  let shop: Shop;
  let chunksRead: number[];
  beforeAll(async () => {
    shop = await startShop({
      catalog: [
        fake(catalog.getImage, () => ({
          contentType: 'image/png',
          disposition: 'inline' as const,
          bytes: stored.length,
          chunks: Math.ceil(stored.length / imageChunkBytes),
          sha256: 'a'.repeat(64),
        })),
        fake(catalog.readImageChunk, ({ index }) => {
          chunksRead.push(index);
          return { data: stored.subarray(index * imageChunkBytes, (index + 1) * imageChunkBytes).toString('base64') };
        }),
      ],
    });
  });
  afterAll(() => shop.stop());
  beforeEach(() => {
    chunksRead = [];
  });

  const read = async (range: string, headers: Record<string, string> = {}) => {
    const response = await shop.get(`/v3/images/${imageId}`, { range, ...headers });
    return { response, body: Buffer.from(await response.arrayBuffer()) };
  };

  it.each([
    ['bytes=0-9', 0, 9, [0]],
    [`bytes=${imageChunkBytes - 5}-${imageChunkBytes + 4}`, imageChunkBytes - 5, imageChunkBytes + 4, [0, 1]],
    [`bytes=${imageChunkBytes}-${2 * imageChunkBytes - 1}`, imageChunkBytes, 2 * imageChunkBytes - 1, [1]],
    ['bytes=10-', 10, stored.length - 1, [0, 1, 2, 3]],
    ['bytes=-150', stored.length - 150, stored.length - 1, [2, 3]],
  ])('%s reads only the chunks concerned', async (range, first, last, chunks) => {
    const { response, body } = await read(range);
    expect(response.status).toBe(206);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-range': `bytes ${first}-${last}/${stored.length}`,
      'content-length': String(last - first + 1),
      'content-type': 'image/png',
      'accept-ranges': 'bytes',
      etag,
    });
    expect(body.equals(stored.subarray(first, last + 1))).toBe(true);
    expect(chunksRead).toEqual(chunks);
  });

  it('beyond the end are 416 with the length of the image', async () => {
    const { response, body } = await read(`bytes=${stored.length}-`);
    expect(response.status).toBe(416);
    expect(response.headers.get('content-range')).toBe(`bytes */${stored.length}`);
    expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(JSON.parse(body.toString())).toMatchObject({ code: 'range-not-satisfiable' });
  });

  it('that are several, of another version or malformed get the whole image', async () => {
    for (const [range, headers] of [
      ['bytes=0-1,5-6', {}],
      ['bytes=0-1', { 'if-range': '"another"' }],
      ['nonsense', {}],
    ] as const) {
      const { response, body } = await read(range, headers);
      expect(response.status).toBe(200);
      expect(body.equals(stored)).toBe(true);
    }
    expect((await read('bytes=0-1', { 'if-range': etag })).response.status).toBe(206);
  });

  it('are ignored for HEAD and for clients that have the image', async () => {
    expect((await read('bytes=0-1', { 'if-none-match': etag })).response.status).toBe(304);
    const head = await fetch(`${shop.gateway.url}/v3/images/${imageId}`, { method: 'HEAD', headers: { range: 'bytes=0-1' } });
    expect({ status: head.status, length: head.headers.get('content-length') }).toEqual({ status: 200, length: String(stored.length) });
    expect(chunksRead).toEqual([]);
  });
});

describe('an upload with an Idempotency-Key', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await startShop({
      catalog: [
        fake(catalog.beginImage, () => ({ uploadId: userId(1) })),
        fake(catalog.writeImageChunk, ({ data }) => ({ bytes: Buffer.from(data, 'base64').length })),
        fake(catalog.finishImage, () => ({ imageId, url: `${publicUrl}/v3/images/${imageId}`, shown: false })),
      ],
    });
    shop.identity.addCredential('key', { kind: 'apiKey' });
  });
  afterAll(() => shop.stop());

  const upload = async (key: string) => {
    const form = new FormData();
    form.append('additionalMetadata', 'a fern');
    form.append('file', new Blob(['image']), 'fern.png');
    const headers = { api_key: 'key', 'idempotency-key': key };
    const response = await fetch(`${shop.gateway.url}/v3/plant/7/uploadImage`, { method: 'POST', headers, body: form });
    await response.arrayBuffer();
    return response.status;
  };

  it('passes the key and the metadata only to the call that finishes the upload', async () => {
    expect(await upload('k-1')).toBe(200);
    const keys = shop.calls.filter((one) => one.operation.startsWith('catalog.')).map((one) => [one.operation, one.context.idempotency]);
    expect(keys).toEqual([
      ['catalog.beginImage', undefined],
      ['catalog.writeImageChunk', undefined],
      ['catalog.finishImage', expect.anything()],
    ]);
    expect(shop.calls.at(-1)?.payload).toMatchObject({ additionalMetadata: 'a fern' });
  });

  it('is refused before the upload begins if the key is malformed', async () => {
    const before = shop.calls.length;
    expect(await upload('not a key')).toBe(400);
    expect(shop.calls.slice(before).map((one) => one.operation)).not.toContain('catalog.beginImage');
  });
});
