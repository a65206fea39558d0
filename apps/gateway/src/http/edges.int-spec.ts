import { gunzipSync } from 'node:zlib';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from '@jest/globals';
import { catalog } from '@plant-shop/contracts/catalog';
import { identity } from '@plant-shop/contracts/identity';
import { Page } from '@plant-shop/platform/rpc/answer';
import { fake } from '@plant-shop/service-testing/service';
import { exchange } from '@plant-shop/testing/framing';
import { type Shop, startShop } from '../gateway.spec.fixture.js';

const plantOf = (id: number) => ({ id, name: `Plant ${id}`, photoUrls: [], tags: [], status: 'available' as const, updatedAt: '2026-01-01T00:00:00.000Z' });

describe('proxies, CORS, content codings and types', () => {
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

  it('X-Forwarded-For is ignored without trusted proxies (slow)', async () => {
    shop = await startShop(login);
    expect(await loginFrom('203.0.113.9')).toMatch(/127\.0\.0\.1$/);
  });

  it('behind trusted proxies the client address is the one that the first of them saw, whatever the client claims (slow)', async () => {
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

  it('pages of other origins are refused by default (slow)', async () => {
    shop = await startShop();
    const answer = await preflight('https://shop.example');
    expect(answer.status).toBe(405);
    expect(answer.headers.get('access-control-allow-origin')).toBeNull();
  });

  it('pages of configured origins are allowed and may read the exposed headers (slow)', async () => {
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

  it('`loopback` allows only pages of this machine, on the OAuth endpoints too (slow)', async () => {
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

  it('every answer may be read by pages of allowed origins, also where nothing is or could be understood (slow)', async () => {
    shop = await startShop({}, { corsOrigins: ['https://shop.example'] });
    const origin = 'https://shop.example';
    for (const [path, status] of [['/v3/nothing', 404], ['/nothing', 404], ['/v3/plant/%ff', 400], [`/v3/user/${'a'.repeat(2_049)}`, 414], ['/oauth/nothing', 404], ['/oauth/token', 405], ['/console/assets/x.js', 404], ['/v3/plant/1?a=%', 400]] as const) {
      const answer = await shop.get(path, { origin });
      expect([path, answer.status, answer.headers.get('access-control-allow-origin'), answer.headers.get('vary')]).toEqual([path, status, origin, 'Origin']);
      expect((await shop.get(path, { origin: 'https://evil.example' })).headers.get('access-control-allow-origin')).toBeNull();
      expect(await preflight(origin, path)).toMatchObject({ status: path.includes('%ff') || status === 414 ? status : 204 });
    }
    const port = Number(new URL(shop.gateway.url).port);
    const raw = (rest: string): Promise<string> => exchange(port, `GET / HTTP/1.1\r\nOrigin: ${origin}\r\nConnection: close\r\n${rest}\r\n\r\n`).received;
    for (const rest of ['Host: x\r\nX: a\rb', `Host: x\r\nX: ${'a'.repeat(20_000)}`, 'Host: x y', 'Host: x\r\nExpect: x', 'X: y']) {
      expect(await raw(rest)).toMatch(/^HTTP\/1\.1 4\d\d[^]*\r\naccess-control-allow-origin: https:\/\/shop\.example\r\n/);
    }
    expect(await raw('Host: x y\r\nOrigin: https://evil.example')).not.toContain('evil.example');
  });

  it('responses have a content coding only if the client permits it, and none only if it permits that (slow)', async () => {
    shop = await startShop({ catalog: [fake(catalog.findPlantsByStatus, () => [plantOf(1)]), fake(catalog.getPlant, () => plantOf(1))] });
    const coded = async (path: string, encoding: string): Promise<unknown> => {
      const sent = request(shop.gateway.url + path, { headers: { 'accept-encoding': encoding } }).end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      response.resume();
      return response.statusCode === 200 ? (response.headers['content-encoding'] ?? 'identity') : response.statusCode;
    };
    const long = '/v3/openapi.json';
    const short = '/v3/plant/findByStatus?status=available';
    const table: readonly (readonly [encoding: string, long: unknown, short: unknown, neverCoded: unknown])[] = [
      ['', 'identity', 'identity', 'identity'],
      ['gzip', 'gzip', 'identity', 'identity'],
      ['br, gzip', 'br', 'identity', 'identity'],
      ['gzip;q=0', 'identity', 'identity', 'identity'],
      ['gzip;q=0.0, br;q=0.000', 'identity', 'identity', 'identity'],
      ['br;q=0, *', 'gzip', 'identity', 'identity'],
      ['br;q=0, gzip;q=0, *', 'identity', 'identity', 'identity'],
      ['gzip;q=0.5, br;q=0.4', 'gzip', 'identity', 'identity'],
      ['identity, gzip;q=0.5', 'identity', 'identity', 'identity'],
      ['GZIP; Q=1', 'gzip', 'identity', 'identity'],
      ['deflate', 'identity', 'identity', 'identity'],
      ['identity;q=0', 406, 406, 406],
      ['*;q=0', 406, 406, 406],
      ['gzip, identity;q=0', 'gzip', 'gzip', 406],
      ['gzip, *;q=0', 'gzip', 'gzip', 406],
      ['deflate, *;q=0', 406, 406, 406],
      ['identity, *;q=0', 'identity', 'identity', 'identity'],
    ];
    for (const [encoding, ...expected] of table) {
      expect([encoding, await coded(long, encoding), await coded(short, encoding), await coded('/v3/plant/1', encoding)]).toEqual([encoding, ...expected]);
    }
  });

  it('a browser gets a page for an address of the console or an account that is none; programs and the API have problem documents', async () => {
    shop = await startShop({});
    for (const path of ['/console/people/%E0%A4%A', '/account/nope', '/account/email?code=%00']) {
      const page = await shop.get(path, { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' });
      expect([path, page.status >= 400, page.headers.get('content-type')]).toEqual([path, true, 'text/html; charset=utf-8']);
      expect(await page.text()).toContain('<h1>There is no such page</h1>');
      expect((await shop.get(path)).headers.get('content-type')).toMatch(/^application\/problem\+json/);
    }
    expect((await shop.get('/v3/nope', { accept: 'text/html' })).headers.get('content-type')).toMatch(/^application\/problem\+json/);
  });

  it('a response has the type of its operation, unless Accept refuses just that (slow)', async () => {
    shop = await startShop({ catalog: [fake(catalog.findPlantsByStatus, () => [plantOf(1)])] });
    for (const [accept, status] of [
      ['text/html', 200],
      ['application/xml', 200],
      ['nonsense', 200],
      ['text/html, */*;q=0.8', 200],
      ['text/html;q=0', 200],
      ['application/json;q=0.001', 200],
      ['application/*;q=0, application/json', 200],
      ['application/json;q=0', 406],
      ['application/json; charset=utf-8; Q=0.0, text/html', 406],
      ['application/*;q=0', 406],
      ['*/*;q=0', 406],
      ['text/html, */*;q=0', 406],
    ] as const) {
      const answer = await shop.get('/v3/plant/findByStatus?status=available', { accept });
      expect([accept, answer.status, answer.headers.get('content-type')]).toEqual([accept, status, `application/${status === 200 ? '' : 'problem+'}json; charset=utf-8`]);
    }
  });

  it('pairs in the query become an object, also in the link to the next page (slow)', async () => {
    const asked: unknown[] = [];
    shop = await startShop({
      catalog: [
        fake(catalog.searchPlants, (request) => {
          asked.push(JSON.parse(JSON.stringify(request)));
          return new Page([plantOf(1)], 'more');
        }),
      ],
    });
    const { status, headers } = await shop.get('/v3/plant/search?metadata[a%20b]=1%2C2&metadata%5Bc%5D=');
    expect({ status, asked }).toEqual({ status: 200, asked: [{ metadata: { 'a b': '1,2', c: '' } }] });
    const [, next = ''] = /<[^>]*?(\/v3[^>]*)>/.exec(headers.get('link') ?? '') ?? [];
    await shop.get(next);
    expect(asked[1]).toEqual({ metadata: { 'a b': '1,2', c: '' }, cursor: 'more' });
    for (const query of ['metadata=x', 'metadata[a]=1&metadata[a]=2', 'metadata[]=1', `metadata[${'k'.repeat(41)}]=1`, 'q[a]=1', 'metadata[a=1']) {
      expect([query, (await shop.get(`/v3/plant/search?${query}`)).status]).toEqual([query, 400]);
    }
  });

  it('long lists are compressed for clients that accept it; short lists and single plants are not', async () => {
    let count = 100;
    shop = await startShop({
      catalog: [
        fake(catalog.findPlantsByStatus, () => Array.from({ length: count }, (_, n) => plantOf(n + 1))),
        fake(catalog.getPlant, () => plantOf(1)),
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
