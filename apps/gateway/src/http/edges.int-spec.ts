import { gunzipSync } from 'node:zlib';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from '@jest/globals';
import { catalog } from '@plant-shop/contracts/catalog';
import { identity } from '@plant-shop/contracts/identity';
import { fake } from '@plant-shop/service-testing/service';
import { type Shop, startShop } from '../gateway.spec.fixture.js';

describe('proxies, CORS and compression', () => {
  let shop: Shop;
  afterEach(() => shop.stop());

  const loginFrom = async (forwarded: string): Promise<unknown> => {
    await shop.get('/v3/user/login?username=a&password=b', { 'x-forwarded-for': forwarded });
    const { payload } = shop.calls.filter((one) => one.operation === 'identity.login').at(-1) ?? {};
    return (payload as { address: string }).address;
  };
  const login = {
    identity: [
      fake(identity.login, () => ({ token: 't'.repeat(43), expiresAt: '2027-01-01T00:00:00.000Z', attemptsLeft: 1 })),
    ],
  };

  it('X-Forwarded-For is ignored without trusted proxies', async () => {
    shop = await startShop(login);
    expect(await loginFrom('203.0.113.9')).toMatch(/127\.0\.0\.1$/);
  });

  it('behind trusted proxies the client address is the one that the first of them saw, whatever the client claims', async () => {
    shop = await startShop(login, { trustedProxies: ['127.0.0.1', '10.0.0.0/8'] });
    expect(await loginFrom('203.0.113.9')).toBe('203.0.113.9');
    expect(await loginFrom('198.51.100.1, 203.0.113.9, 10.1.2.3')).toBe('203.0.113.9');
  });

  const preflight = (origin: string, path = '/v3/store/order') =>
    fetch(shop.gateway.url + path, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'api_key, content-type, idempotency-key',
      },
    });

  it('pages of other origins are refused by default', async () => {
    shop = await startShop();
    const answer = await preflight('https://shop.example');
    expect(answer.status).toBe(405);
    expect(answer.headers.get('access-control-allow-origin')).toBeNull();
  });

  it('pages of configured origins are allowed and may read the exposed headers', async () => {
    shop = await startShop({}, { corsOrigins: ['https://shop.example', 'https://other.example'] });
    const answer = await preflight('https://shop.example');
    expect(answer.status).toBe(204);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'access-control-allow-origin': 'https://shop.example',
      'access-control-allow-methods': expect.stringContaining('POST'),
      'access-control-allow-headers': 'api_key, content-type, idempotency-key',
      vary: expect.stringContaining('Origin'),
    });
    expect((await preflight('https://evil.example')).headers.get('access-control-allow-origin')).not.toBe('https://evil.example');
    const refused = await shop.get('/v3/store/inventory', { origin: 'https://shop.example' });
    expect(refused.status).toBe(401);
    expect(refused.headers.get('access-control-allow-origin')).toBe('https://shop.example');
    expect(refused.headers.get('access-control-expose-headers')).toContain('ETag');
  });

  it('`loopback` allows only pages of this machine, on the OAuth endpoints too', async () => {
    const provider = createServer((_, response) =>
      response.setHeader('access-control-allow-origin', '*').setHeader('content-type', 'application/json').end('{}'),
    ).listen(0, '127.0.0.1');
    await once(provider, 'listening');
    const identityHttpUrl = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
    shop = await startShop({}, { corsOrigins: ['loopback'], identityHttpUrl });
    const allowed = (answer: Response): string | null => answer.headers.get('access-control-allow-origin');
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    for (const origin of ['http://localhost:3000', 'http://127.0.0.1:5173', 'http://[::1]:8000']) {
      for (const path of ['/oauth/token', '/oauth/revoke']) {
        expect(allowed(await preflight(origin, path))).toBe(origin);
        expect(allowed(await shop.send('POST', path, 'a=b', { ...form, origin }))).toBe(origin);
      }
      for (const path of ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server', '/oauth/jwks', '/v3/openapi.json']) {
        const answer = await shop.get(path, { origin });
        expect({ status: answer.status, allowed: allowed(answer) }).toEqual({ status: 200, allowed: origin });
        expect(answer.headers.get('vary')).toContain('Origin');
      }
    }
    for (const origin of ['https://shop.example', 'http://localhost.evil.example', 'null']) {
      expect(allowed(await shop.get('/.well-known/openid-configuration', { origin }))).toBeNull();
      expect(await preflight(origin)).toMatchObject({ status: 405 });
    }
    provider.close();
    provider.closeAllConnections();
  });

  it('long lists are compressed for clients that accept it; short lists and single plants are not', async () => {
    const plant = (id: number) => ({ id, name: `Plant ${id}`, photoUrls: [], tags: [], status: 'available' as const });
    let count = 100;
    shop = await startShop({
      catalog: [
        fake(catalog.findPlantsByStatus, () => Array.from({ length: count }, (_, n) => plant(n + 1))),
        fake(catalog.getPlant, () => plant(1)),
      ],
    });
    const raw = async (path: string) => {
      const sent = request(shop.gateway.url + path, { headers: { 'accept-encoding': 'gzip' } }).end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      const parts: Buffer[] = [];
      for await (const part of response) parts.push(part as Buffer);
      return { encoding: response.headers['content-encoding'], vary: response.headers.vary, body: Buffer.concat(parts) };
    };
    const long = await raw('/v3/plant/findByStatus?status=available');
    expect(long).toMatchObject({ encoding: 'gzip', vary: expect.stringContaining('accept-encoding') });
    expect(JSON.parse(gunzipSync(long.body).toString())).toHaveLength(100);
    count = 2;
    expect((await raw('/v3/plant/findByStatus?status=available')).encoding).toBeUndefined();
    expect((await raw('/v3/plant/1')).encoding).toBeUndefined();
  });
});
