import { describe, expect, it } from '@jest/globals';
import { createPlant, ok, type Plant, problem, send, staff } from './shop.js';

interface ApiResponse {
  code: number;
  type: string;
  message: string;
}

/** The parts of a form, in the order in which they are sent. */
const upload = (plantId: number, ...parts: [name: string, value: string | Blob, filename?: string][]) => {
  const form = new FormData();
  for (const [name, value, filename] of parts) {
    if (typeof value === 'string') form.append(name, value);
    else form.append(name, value, filename ?? 'photo.png');
  }
  return send<ApiResponse>('POST', `/v3/plant/${plantId}/uploadImage`, { as: staff, body: form });
};
const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(700_000, 7)]);
const blob = (bytes: Uint8Array | string) => new Blob([typeof bytes === 'string' ? bytes : new Uint8Array(bytes)]);
const photosOf = async (id: number) => (await ok(send<Plant>('GET', `/v3/plant/${id}`))).photoUrls;

describe('images of plants', () => {
  it.each([
    ['after', [['file', blob(png)], ['additionalMetadata', 'from the greenhouse']]],
    ['before', [['additionalMetadata', 'from the greenhouse'], ['file', blob(png)]]],
  ] as const)('a picture with its metadata %s it is appended to the plant and served as it was, safely', async (_, parts) => {
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

  it('what is no picture is kept as an attachment and never served as active content', async () => {
    const { id } = await createPlant();
    const { message } = await ok(upload(id, ['file', blob('just words'), 'a.html']));
    const response = await fetch(message.split('url: ')[1] ?? '');
    expect(response.headers.get('content-type')).toBe('application/octet-stream');
    expect(response.headers.get('content-disposition')).toMatch(/^attachment/);
    expect(await photosOf(id)).toEqual([]);
  });

  it.each(['<html><script>alert(1)</script>', '  <!DOCTYPE html>', '<?xml version="1.0"?><svg/>', '<svg onload=alert(1)>'])(
    'refuses %s',
    async (content) => {
      const { id } = await createPlant();
      await problem(upload(id, ['file', blob(content)]), 415, 'image-type-refused');
    },
  );

  it('refuses a missing file, a file too large, an unknown plant, a body that is no form', async () => {
    const { id } = await createPlant();
    await problem(upload(id, ['additionalMetadata', 'x']), 400, 'invalid-input');
    await problem(upload(id, ['file', blob(Buffer.alloc(10 * 1024 * 1024 + 1, 1))]), 413, 'payload-too-large');
    await problem(upload(999_999_999_999, ['file', blob(png)]), 404, 'plant-not-found');
    await problem(send('POST', `/v3/plant/${id}/uploadImage`, { as: staff, json: {} }), 415, 'unsupported-media-type');
    await problem(send('GET', '/v3/images/00000000-0000-4000-8000-000000000000'), 404, 'image-not-found');
  });
});
