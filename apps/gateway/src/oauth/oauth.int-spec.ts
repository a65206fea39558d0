import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { pagePolicy } from '@plant-shop/contracts/page';
import { until } from '@plant-shop/testing/until';
import { type Shop, startShop } from '../gateway.spec.fixture.js';

interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

describe("identity's OAuth pages through the gateway", () => {
  let identity: Server;
  let shop: Shop;
  let received: Received[];
  let hangs = false;
  /** Identity answers later. */
  let later: (() => void)[] | undefined;

  beforeAll(async () => {
    identity = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        received.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks).toString() });
        if (hangs) return;
        const answer = (): void => {
          response.writeHead(request.url === '/oauth/jwks?busy' ? 503 : 200, { 'content-type': 'application/json', 'cache-control': 'no-store', connection: 'x-hop', 'x-hop': '1' });
          response.end('{"access_token":"t"}');
        };
        if (later) later.push(answer);
        else answer();
      });
    }).listen(0, '127.0.0.1');
    await once(identity, 'listening');
    const { port } = identity.address() as AddressInfo;
    shop = await startShop({}, { identityHttpUrl: `http://127.0.0.1:${port}`, requestBudgetMs: 400 });
  });
  afterAll(async () => {
    await shop.stop();
    identity.closeAllConnections();
    identity.close();
  });
  beforeEach(() => {
    received = [];
    hangs = false;
    later = undefined;
  });

  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const token = (headers = {}): Promise<Response> =>
    shop.send('POST', '/oauth/token', 'grant_type=client_credentials&scope=a+b', { ...form, ...headers });

  it('receive a token request unchanged, with its credentials', async () => {
    const response = await token({ authorization: 'Basic cGxhbnQ6c2VjcmV0', 'x-request-id': 'mine' });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ access_token: 't' });
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('x-request-id')).toBe('mine');
    expect(received).toEqual([
      expect.objectContaining({ method: 'POST', url: '/oauth/token', body: 'grant_type=client_credentials&scope=a+b' }),
    ]);
    expect(received[0]?.headers).toMatchObject({ authorization: 'Basic cGxhbnQ6c2VjcmV0', 'x-request-id': 'mine' });
  });

  it('receive the public address, and no claims of the client about proxies', async () => {
    await token({ 'x-forwarded-for': '6.6.6.6', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'ftp', forwarded: 'for=6.6.6.6', 'x-real-ip': '6.6.6.6', 'x-forwarded-port': '1' });
    const { headers } = received[0]!;
    expect(headers).toMatchObject({ 'x-forwarded-for': '127.0.0.1', 'x-forwarded-host': 'plants.example', 'x-forwarded-proto': 'https' });
    expect(Object.keys(headers).filter((name) => /forwarded|real-ip/.test(name)).sort()).toEqual(['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto']);
  });

  it('receive the Origin only for their own forms', async () => {
    const origin = 'https://plants.example';
    await token({ origin });
    await shop.send('POST', '/oauth/interaction/abc', 'username=a', { ...form, origin });
    await shop.send('POST', '/account/password', 'code=a', { ...form, origin });
    await shop.send('POST', '/account', 'action=a', { ...form, origin });
    expect(received.map(({ headers }) => headers.origin)).toEqual([undefined, origin, origin, origin]);
  });

  it.each(['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server', '/oauth/jwks', '/oauth/userinfo', '/oauth/logout?client_id=a', '/oauth/authorize/abc', '/oauth/interaction/abc', '/oauth/interaction/abc/sign-up', '/account?done=a', '/account/passkey', '/account/recovery', '/account/password?code=a', '/account/email?code=a', '/oauth/authorize?client_id=a%20b&state=c'])('receive GET %s', async (path) => {
    expect((await shop.get(path)).status).toBe(200);
    expect(received[0]).toMatchObject({ method: 'GET', url: path });
  });

  it('do not receive hop-by-hop headers', async () => {
    const { hostname, port } = new URL(shop.gateway.url);
    const sent = request({ hostname, port, path: '/oauth/jwks', headers: { connection: 'upgrade', upgrade: 'h2c', 'keep-alive': 'x', te: 'x' } }).end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    answer.resume();
    expect(answer.statusCode).toBe(200);
    expect(received[0]?.headers).not.toMatchObject({ upgrade: 'h2c' });
    expect(Object.keys(received[0]?.headers ?? {})).not.toContain('te');
  });

  it('are called once even if they answer 503: retries are up to the client', async () => {
    expect((await shop.get('/oauth/jwks?busy')).status).toBe(503);
    expect(received).toHaveLength(1);
  });

  it.each(['/oauth/..%2fmetrics', '/oauth/%2e%2e/metrics', '/oauth/..%5c..'])('cannot be escaped by %s', async (path) => {
    expect([400, 404]).toContain((await shop.get(path)).status);
    expect(received.filter(({ url }) => !url.startsWith('/oauth/'))).toEqual([]);
  });

  it('are rate-limited by client address, whatever credentials are sent (slow)', async () => {
    const few = await startShop({}, { identityHttpUrl: `http://127.0.0.1:${(identity.address() as AddressInfo).port}`, rateLimitPerMinute: 3 });
    const statuses = [];
    for (let n = 0; n < 4; n++) statuses.push((await few.get('/oauth/jwks', { api_key: `key-${n}` })).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
    expect((await few.send('POST', '/oauth/token', 'grant_type=x', form)).status).toBe(429);
    await few.stop();
  });

  it('are rate-limited by network: an IPv6 /64 counts as one client (slow)', async () => {
    const few = await startShop({}, { identityHttpUrl: `http://127.0.0.1:${(identity.address() as AddressInfo).port}`, rateLimitPerMinute: 2, trustedProxies: ['127.0.0.1'] });
    const statusFor = async (address: string): Promise<number> => (await few.get('/oauth/jwks', { 'x-forwarded-for': address })).status;
    const statuses = [];
    for (const address of ['2001:db8::1', '2001:db8::2:1', '2001:db8::3', '2001:db8:0:1::1']) statuses.push(await statusFor(address));
    expect(statuses).toEqual([200, 200, 429, 200]);
    expect(received.map(({ headers }) => headers['x-forwarded-for'])).toEqual(['2001:db8::1', '2001:db8::2:1', '2001:db8:0:1::1']);
    await few.stop();
  });

  it('allow few authorizations per address, since identity stores each (slow)', async () => {
    const few = await startShop({}, { identityHttpUrl: `http://127.0.0.1:${(identity.address() as AddressInfo).port}`, rateLimitPerMinute: 250 });
    const statuses = [];
    for (let n = 0; n < 3; n++) statuses.push((await few.get('/oauth/authorize?client_id=a')).status);
    expect(statuses).toEqual([200, 200, 429]);
    await few.stop();
  });

  it('whose client leaves before the answer are no defect', async () => {
    const waiting: (() => void)[] = [];
    later = waiting;
    const errors = jest.spyOn(shop.service.logger, 'error');
    const { hostname, port } = new URL(shop.gateway.url);
    const left = await Promise.all(
      Array.from({ length: 50 }, async (_, n) => {
        const socket = connect(Number(port), hostname);
        socket.on('error', () => undefined);
        socket.write('POST /oauth/token HTTP/1.1\r\nhost: shop\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: 1\r\n\r\na');
        await until(() => received.length > n, 5_000, 1);
        return socket.destroy();
      }),
    );
    later = undefined;
    for (const answer of waiting) answer();
    // The gateway has got these answers, too.
    for (const { destroyed } of left) expect([destroyed, (await token()).status]).toEqual([true, 200]);
    expect(errors.mock.calls).toEqual([]);
    errors.mockRestore();
  });

  it('are covered by the limit of concurrent requests (slow)', async () => {
    const narrow = await startShop({}, { identityHttpUrl: `http://127.0.0.1:${(identity.address() as AddressInfo).port}`, maxInFlight: 1 });
    hangs = true;
    const first = narrow.get('/oauth/authorize?client_id=a');
    while (received.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await (await narrow.get('/oauth/jwks')).json()).toMatchObject({ status: 503, code: 'overloaded' });
    await first;
    await narrow.stop();
  });

  it.each<[string, string, number, string | null]>([
    ['GET', '/oauth/token', 405, 'POST'],
    ['HEAD', '/oauth/token', 405, 'POST'],
    ['GET', '/oauth/revoke', 405, 'POST'],
    ['POST', '/oauth/jwks', 405, 'GET, HEAD'],
    ['HEAD', '/oauth/authorize', 405, 'GET, POST'],
    ['HEAD', '/oauth/authorize/abc', 405, 'GET'],
    ['PUT', '/oauth/interaction/abc', 405, 'GET, HEAD, POST'],
    ['GET', '/oauth', 404, null],
    ['GET', '/oauth/', 404, null],
    ['GET', '/oauth/nothing', 404, null],
    ['POST', '/oauth/nothing', 404, null],
    ['GET', '/oauth/token/x', 404, null],
    ['GET', '/oauth/interaction/', 404, null],
    ['DELETE', '/account/password', 405, 'GET, HEAD, POST'],
    ['PUT', '/oauth/interaction/abc/sign-up', 405, 'GET, HEAD, POST'],
    ['DELETE', '/account', 405, 'GET, HEAD, POST'],
    ['GET', '/account/nothing', 404, null],
  ])('get no %s %s: a problem says so', async (method, path, status, allow) => {
    const response = await fetch(shop.gateway.url + path, { method });
    expect([response.status, response.headers.get('allow')]).toEqual([status, allow]);
    expect(response.headers.get('content-type')).toContain('application/problem+json');
    expect(received).toEqual([]);
  });

  it('receive a HEAD where there is a GET', async () => {
    for (const path of ['/oauth/jwks', '/oauth/interaction/abc', '/.well-known/openid-configuration']) {
      expect((await fetch(shop.gateway.url + path, { method: 'HEAD' })).status).toBe(200);
    }
  });

  it('count an authorization that begins by a form like one by GET (slow)', async () => {
    const few = await startShop({}, { identityHttpUrl: `http://127.0.0.1:${(identity.address() as AddressInfo).port}`, rateLimitPerMinute: 201 });
    const statuses = [];
    for (let n = 0; n < 3; n++) statuses.push((await few.send('POST', '/oauth/authorize', 'client_id=a', form)).status);
    expect(statuses).toEqual([200, 200, 429]);
    await few.stop();
  });

  it('count a form that signs up as a registration (slow)', async () => {
    const few = await startShop({}, { identityHttpUrl: `http://127.0.0.1:${(identity.address() as AddressInfo).port}`, rateLimitPerMinute: 101 });
    const statuses = [];
    for (let n = 0; n < 4; n++) statuses.push((await few.send('POST', '/oauth/interaction/abc/sign-up', 'username=a', form)).status);
    // Each counts as fifty requests against the limit of registrations.
    expect(statuses).toEqual([200, 200, 429, 429]);
    expect(received.every(({ body }) => body === 'username=a')).toBe(true);
    await few.stop();
  });

  it('get no encoded forms', async () => {
    const response = await shop.send('POST', '/oauth/token', 'grant_type=x', { ...form, 'content-encoding': 'gzip' });
    expect([response.status, response.headers.get('accept-encoding')]).toEqual([415, 'identity']);
    expect(received).toEqual([]);
  });

  it('accept forms only', async () => {
    expect((await shop.send('POST', '/oauth/token', { grant_type: 'x' })).status).toBe(415);
    expect((await fetch(`${shop.gateway.url}/oauth/token`, { method: 'DELETE' })).status).toBe(405);
  });

  it.each([
    ['GET', '/oauth/token', 405, 'POST'],
    ['HEAD', '/oauth/token', 405, 'POST'],
    ['GET', '/oauth/revoke', 405, 'POST'],
    ['PUT', '/oauth/userinfo', 405, 'GET, HEAD, POST'],
    ['HEAD', '/oauth/logout', 405, 'GET'],
    ['POST', '/oauth/jwks', 405, 'GET, HEAD'],
    ['POST', '/.well-known/openid-configuration', 405, 'GET, HEAD'],
    ['GET', '/oauth/unknown', 404, null],
    ['POST', '/oauth/unknown/path', 404, null],
    ['GET', '/oauth', 404, null],
  ])('do not receive %s %s, which is a problem', async (method, path, status, allow) => {
    const response = await shop.send(method, path, undefined);
    expect([response.status, response.headers.get('allow'), received]).toEqual([status, allow, []]);
    if (method !== 'HEAD') expect(await response.json()).toMatchObject({ status, code: status === 405 ? 'method-not-allowed' : 'route-not-found' });
  });

  it('refuse forms that are too large', async () => {
    const response = await shop.send('POST', '/oauth/token', `a=${'x'.repeat(1024 * 1024)}`, form);
    expect(response.status).toBe(413);
  });

  it('answer with a problem when they time out: for a token request the outcome is unknown (slow)', async () => {
    hangs = true;
    expect(await (await token()).json()).toMatchObject({ status: 503, code: 'outcome-unknown' });
    const read = await shop.get('/oauth/jwks');
    expect(read.headers.get('retry-after')).toBe('1');
    expect(await read.json()).toMatchObject({ status: 503, code: 'unavailable' });
  });

  it.each([
    ['GET', '/oauth/authorize?client_id=a', true, false],
    ['GET', '/account/password?code=a', true, false],
    ['POST', '/oauth/interaction/abc', true, true],
    ['POST', '/oauth/logout/confirm', false, true],
  ])('time out for people with a page that leads back where they were: %s %s (slow)', async (method, path, leadsBack, isUnknown) => {
    hangs = true;
    const accept = 'text/html,application/xhtml+xml,*/*;q=0.8';
    const response = await shop.send(method, path, method === 'POST' ? 'a=b' : undefined, { accept, ...(method === 'POST' && form) });
    expect([response.status, response.headers.get('retry-after'), response.headers.get('content-type'), response.headers.get('cache-control')]).toEqual([503, '1', 'text/html; charset=utf-8', 'no-store']);
    expect(response.headers.get('content-security-policy')).toBe(pagePolicy());
    const text = await response.text();
    expect(text).toContain('<h1>Please try again later</h1>');
    expect([text.includes('<a href="">Try again</a>'), text.includes('may have arrived')]).toEqual([leadsBack, isUnknown]);
  });

  it('answer with a problem when identity is down (slow)', async () => {
    const away = await startShop({}, { identityHttpUrl: 'http://127.0.0.1:9' });
    const response = await away.send('POST', '/oauth/token', 'grant_type=x', form);
    expect(await response.json()).toMatchObject({ status: 503, code: 'unavailable' });
    await away.stop();
  });
});
