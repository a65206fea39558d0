import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { echoes, type Shop, startShop } from '../gateway.spec.fixture.js';

const always = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': expect.stringContaining("frame-ancestors 'none'"),
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': expect.any(String),
};

describe('security headers', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await startShop(echoes, { publicUrl: 'https://shop.example' });
  });
  afterAll(() => shop.stop());

  it.each([
    ['a plant', '/v3/plant/1'],
    ['a page', '/docs'],
    ['a page about a problem', '/problems/forbidden'],
    ['the document', '/v3/openapi.json'],
    ['a refusal', '/v3/store/inventory'],
    ['an unknown path', '/v3/nothing'],
    ['a path that cannot be decoded', '/v3/plant/%ff'],
    ['identity down', '/oauth/jwks'],
  ])('are on every response: %s', async (_, path) => {
    const { headers } = await shop.get(path);
    expect(Object.fromEntries(headers)).toMatchObject({ ...always, 'strict-transport-security': 'max-age=31536000; includeSubDomains' });
    expect(headers.get('server') ?? headers.get('x-powered-by')).toBeNull();
  });

  it('are on responses to malformed HTTP', async () => {
    const { hostname, port } = new URL(shop.gateway.url);
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(Number(port), hostname, () => socket.write('NONSENSE\r\n\r\n'));
      let text = '';
      socket.on('data', (chunk) => (text += chunk.toString()));
      socket.on('close', () => resolve(text));
    });
    expect(answer).toMatch(/x-content-type-options: nosniff\r\n/);
  });

  it('do not require HTTPS when the public address is HTTP', async () => {
    const plain = await startShop(echoes, { publicUrl: 'http://127.0.0.1:8080' });
    try {
      expect((await plain.get('/v3/plant/1')).headers.get('strict-transport-security')).toBeNull();
    } finally {
      await plain.stop();
    }
  });
});
