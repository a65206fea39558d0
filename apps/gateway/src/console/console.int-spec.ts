import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { publicUrl, type Shop, startShop } from '../gateway.spec.fixture.js';

describe('the console', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await startShop();
  });
  afterAll(() => shop.stop());

  const read = async (path: string, headers: Record<string, string> = {}) => {
    const response = await shop.get(path, headers);
    return { response, text: await response.text() };
  };
  const assetsOf = (html: string): string[] => [...html.matchAll(/(?:href|src)="(\/console\/assets\/[^"]+)"/g)].map(([, path = '']) => path);

  it.each(['/console', '/console/', '/console/orders/7?tab=timeline', '/console/index.html'])('%s is the page, revalidated on each use', async (path) => {
    const { response, text } = await read(path);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('cache-control')).toBe('no-cache');
    expect(assetsOf(text).length).toBeGreaterThan(1);
    const again = await read(path, { 'if-none-match': response.headers.get('etag') ?? '' });
    expect({ status: again.response.status, text: again.text }).toEqual({ status: 304, text: '' });
  });

  it('forbids inline scripts, foreign content and framing, and allows the stream', async () => {
    const { response, text } = await read('/console');
    const policy = (response.headers.get('content-security-policy') ?? '').split('; ');
    expect(policy).toEqual(expect.arrayContaining(["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"]));
    expect(policy).toContain(`connect-src 'self' ${publicUrl} https://stream.example`);
    expect(response.headers.get('x-frame-options')).toBe('DENY');
    expect(text).not.toMatch(/https?:|<script>|\son\w+=/);
  });

  it('serves files with hashed names as immutable and compressed', async () => {
    const { text: html } = await read('/console');
    for (const path of assetsOf(html)) {
      const plain = await read(path, { 'accept-encoding': 'identity' });
      expect(plain.response.headers.get('content-encoding')).toBeNull();
      if (plain.text.length < 1_024) continue; // Too small to be compressed.
      for (const encoding of ['br', 'gzip']) {
        const { response, text } = await read(path, { 'accept-encoding': encoding });
        expect({ path, status: response.status, encoding: response.headers.get('content-encoding') }).toEqual({ path, status: 200, encoding });
        expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
        expect(response.headers.get('vary')).toBe('accept-encoding');
        expect(text).toBe(plain.text);
      }
    }
  });

  it.each(['/console/assets/index-gone.js', '/console/assets/', '/console/assets/../../package.json', '/console/assets/..%2findex.html', '/consoles'])('%s is not found', async (path) => {
    const { response, text } = await read(path);
    expect(response.status).toBe(404);
    expect(response.headers.get('cache-control')).not.toContain('immutable');
    expect(JSON.parse(text)).toMatchObject({ code: 'route-not-found' });
  });

  it('reads the OAuth client and the address of the stream from its settings', async () => {
    const { response, text } = await read('/console/settings.json');
    expect(response.headers.get('cache-control')).toBe('no-cache');
    expect(JSON.parse(text)).toEqual({ publicUrl, oauthClient: 'plant-console', streamUrl: 'wss://stream.example' });
  });

  it('allows only GET and HEAD', async () => {
    const response = await fetch(`${shop.gateway.url}/console`, { method: 'POST' });
    expect(response.status).toBe(405);
  });
});
