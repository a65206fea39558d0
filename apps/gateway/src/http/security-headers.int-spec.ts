import { connect } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { echoes, type Shop, startShop } from '../gateway.spec.fixture.js';

const always = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': expect.stringContaining("frame-ancestors 'none'"),
  'referrer-policy': 'no-referrer',
  'cache-control': expect.any(String),
};

describe('what browsers are told', () => {
  let shop: Shop;
  afterEach(() => shop.stop());

  it.each([
    ['a plant', '/v3/plant/1'],
    ['a page', '/docs'],
    ['a page about a problem', '/problems/forbidden'],
    ['the document', '/v3/openapi.json'],
    ['a refusal', '/v3/store/inventory'],
    ['an unknown path', '/v3/nothing'],
    ['a path that cannot be decoded', '/v3/plant/%ff'],
    ['identity away', '/oauth/token'],
  ])('every answer says how little it may do: %s', async (_, path) => {
    shop = await startShop(echoes);
    const { headers } = await shop.get(path);
    expect(Object.fromEntries(headers)).toMatchObject(always);
    expect(headers.get('server') ?? headers.get('x-powered-by')).toBeNull();
  });

  it('what is no HTTP is answered so too', async () => {
    shop = await startShop(echoes);
    const { hostname, port } = new URL(shop.gateway.url);
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(Number(port), hostname, () => socket.write('NONSENSE\r\n\r\n'));
      let text = '';
      socket.on('data', (chunk) => (text += chunk.toString()));
      socket.on('close', () => resolve(text));
    });
    expect(answer).toMatch(/x-content-type-options: nosniff\r\n/);
  });

  it.each([
    ['https://shop.example', /^max-age=\d{8}$/],
    ['http://127.0.0.1:8080', /^none$/],
  ])('reached as %s, browsers are told to come by https alone, or are not', async (publicUrl, expected) => {
    shop = await startShop(echoes, { publicUrl });
    expect((await shop.get('/v3/plant/1')).headers.get('strict-transport-security') ?? 'none').toMatch(expected);
  });
});
