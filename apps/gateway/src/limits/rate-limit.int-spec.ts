import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { userId } from '@plant-shop/service-testing/identity';
import { fake } from '@plant-shop/service-testing/service';
import { until } from '@plant-shop/testing/until';
import { echoes, type Shop, startShop } from '../gateway.spec.fixture.js';

const login = fake(identity.login, () => ({ token: 't'.repeat(43), expiresAt: '2027-01-01T00:00:00.000Z', attemptsLeft: 19 }));

/** Windows are the minutes of the clock: a test that begins near the end of one would count in two. */
const earlyInTheMinute = (): Promise<void> => until(() => Date.now() % 60_000 < 40_000);

describe('the rate limit of operations that require no credential', () => {
  let shop: Shop;
  beforeEach(async () => {
    shop = await startShop({ ...echoes, identity: [...(echoes['identity'] ?? []), login] }, { rateLimitPerMinute: 3 });
    await until(async () => (await shop.service.readiness.report()).ready);
    await earlyInTheMinute();
  });
  afterEach(() => shop.stop());

  const statusesOf = async (n: number, ask: (n: number) => Promise<Response>): Promise<number[]> => {
    const statuses: number[] = [];
    for (let i = 0; i < n; i++) statuses.push((await ask(i)).status);
    return statuses;
  };

  it('counts requests with invalid credentials by address, and limits the checks by identity (slow)', async () => {
    const stale = (n: number): Record<string, string> => ({ authorization: `Bearer stale-${n}` });
    expect(await statusesOf(2, (n) => shop.get('/v3/plant/1', stale(n)))).toEqual([200, 200]);
    expect(await statusesOf(1, (n) => shop.get('/v3/user/login?username=a&password=b', stale(n)))).toEqual([200]);
    expect(shop.identity.checks).toBe(0);
    expect(await statusesOf(5, (n) => shop.get('/v3/user/login?username=a&password=b', stale(n)))).toEqual([429, 429, 429, 429, 429]);
    expect((await shop.get('/v3/plant/findByStatus?status=sold', stale(9))).status).toBe(429);
    expect((await shop.send('POST', '/v3/user', { username: 'a', password: 'b' }, stale(9))).status).toBe(429);
    expect((await shop.get('/v3/plant/1')).status).toBe(429);
    expect(shop.identity.checks).toBe(3);
  });

  it('does not refuse valid credentials because of other clients at the same address', async () => {
    for (const [n, name] of ['greedy', 'reader', 'staff'].entries()) shop.identity.addCredential(name, { kind: 'apiKey', userId: userId(n) });
    // A credential that is not cached counts as anonymous until the limit of the address is exhausted.
    expect(await statusesOf(8, () => shop.get('/v3/plant/1', { api_key: 'greedy' }))).toEqual([200, 200, 200, 200, 200, 200, 429, 429]);
    expect((await shop.get('/v3/plant/1')).status).toBe(429);
    expect((await shop.get('/v3/plant/1', { api_key: 'reader' })).status).toBe(200);
    expect((await shop.get('/v3/store/inventory', { api_key: 'staff' })).status).toBe(200);
    expect(shop.identity.checks).toBe(3);
  });

  it('counts an uncached credential as anonymous while identity is down (slow)', async () => {
    shop.identity.addCredential('reader', { kind: 'apiKey' });
    expect(await statusesOf(3, () => shop.get('/v3/plant/1'))).toEqual([200, 200, 200]);
    await shop.stopFake('identity');
    expect((await shop.get('/v3/plant/1', { api_key: 'reader' })).status).toBe(429);
    await shop.restartFake('identity');
    await until(async () => (await shop.get('/v3/plant/1', { api_key: 'reader' })).status === 200);
  });

  it('counts no guess while identity is down, so valid credentials are accepted at once when it is back', async () => {
    shop.identity.addCredential('staff', { kind: 'apiKey' });
    const ask = (): Promise<Response> => shop.get('/v3/store/inventory', { api_key: 'staff' });
    await shop.stopFake('identity');
    expect(await statusesOf(8, ask)).toEqual(Array.from({ length: 8 }, () => 503));
    await shop.restartFake('identity');
    const seen: number[] = [];
    await until(async () => {
      seen.push((await ask()).status);
      return seen.at(-1) !== 503;
    });
    expect(seen.at(-1)).toBe(200);
  });

  it('counts by credential if the gateway has it cached as valid (slow)', async () => {
    shop.identity.addCredential('key', { kind: 'apiKey' });
    const key = { api_key: 'key' };
    expect((await shop.get('/v3/store/inventory', key)).status).toBe(200);
    expect(await statusesOf(3, () => shop.get('/v3/plant/1', key))).toEqual([200, 200, 429]);
    expect((await shop.get('/v3/store/inventory', key)).status).toBe(429);
    expect(await statusesOf(4, () => shop.get('/v3/plant/1'))).toEqual([200, 200, 200, 429]);
    expect(shop.identity.checks).toBe(1);
  });

  it('counts registrations with a refused credential by address (slow)', async () => {
    const register = (n: number): Promise<Response> =>
      shop.send('POST', '/v3/user', { username: 'a', password: 'b' }, { api_key: `guess-${n}` });
    // The first one costs more than the minute's limit.
    expect(await statusesOf(5, register)).toEqual([200, 429, 429, 429, 429]);
    expect(shop.identity.checks).toBe(3);
  });
});

describe('the weights of operations', () => {
  let shop: Shop;
  beforeEach(async () => {
    shop = await startShop(echoes, { rateLimitPerMinute: 60_000, trustedProxies: ['127.0.0.1'] });
    await earlyInTheMinute();
    shop.identity.addCredential('manager', { kind: 'apiKey', permissions: ['write:users', 'write:plants'] });
    shop.identity.addCredential('customer', { kind: 'apiKey', userId: userId(2), permissions: [] });
  });
  afterEach(() => shop.stop());

  const left = (response: Response): number => Number(/r=(\d+)/.exec(response.headers.get('ratelimit') ?? '')?.[1]);
  const users = (n: number): object[] => Array.from({ length: n }, (_, one) => ({ username: `u${one}`, password: 'p' }));
  const from = (address: string, headers: Record<string, string> = {}): Record<string, string> => ({ 'x-forwarded-for': address, ...headers });
  const register = (n: number, headers: Record<string, string>): Promise<Response> => shop.send('POST', '/v3/user/createWithList', users(n), headers);

  it('are 8 for a search, 16 for facets, 20 for a registration and for each of a list, and 1 for others (slow)', async () => {
    const before = left(await shop.get('/v3/plant/1', from('192.0.2.1')));
    expect(before).toBe(59_999);
    expect(left(await shop.get('/v3/plant/search?q=a', from('192.0.2.1')))).toBe(before - 8);
    expect(left(await shop.get('/v3/plant/facets', from('192.0.2.1')))).toBe(before - 24);
    // One request, which registers one user.
    expect(left(await shop.send('POST', '/v3/user', users(1)[0], from('192.0.2.1')))).toBe(before - 24 - 21);
    expect(left(await register(500, from('192.0.2.1')))).toBe(before - 45 - 10_001);
  });

  it('do not count a list that identity refuses for its length as more than the longest (slow)', async () => {
    expect(left(await register(5_000, from('192.0.2.9')))).toBe(60_000 - 10_001);
  });

  it('let one network register 1,200 users a minute; managers of users and other networks are not affected (slow)', async () => {
    const statuses: number[] = [];
    for (let n = 0; n < 3; n++) statuses.push((await register(500, from('192.0.2.2'))).status);
    expect(statuses).toEqual([200, 200, 429]);
    const refused = await register(500, from('192.0.2.2'));
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await refused.json()).toMatchObject({ code: 'too-many-requests', detail: expect.stringContaining('registrations from your network') as unknown });
    expect((await shop.send('POST', '/v3/user', users(1)[0], from('192.0.2.2'))).status).toBe(200);
    expect((await register(500, from('192.0.2.2', { api_key: 'customer' }))).status).toBe(429);
    expect((await register(500, from('192.0.2.2', { api_key: 'manager' }))).status).toBe(200);
    expect((await register(500, from('192.0.2.3'))).status).toBe(200);
    const sent = shop.calls.filter(({ operation }) => operation === 'identity.createUsers').map(({ payload }) => (payload as { address?: string }).address);
    expect(sent).toEqual(['192.0.2.2', '192.0.2.2', '192.0.2.2', '192.0.2.3']);
  });

  it('are the time used, for imports (slow)', async () => {
    const key = from('192.0.2.4', { api_key: 'manager' });
    const before = left(await shop.get('/v3/plant/1', key));
    await (await shop.send('POST', '/v3/plant/import', '{"id":1,"name":"a","photoUrls":[]}\n', { ...key, 'content-type': 'application/x-ndjson' })).text();
    await until(async () => left(await shop.get('/v3/plant/1', key)) <= before - 3);
  });
});

describe('the rate limit at the gateway', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await startShop(echoes, { rateLimitPerMinute: 3 });
    await earlyInTheMinute();
    shop.identity.addCredential('key', { kind: 'apiKey' });
    shop.identity.addCredential('second-key', { kind: 'apiKey' });
    shop.identity.addCredential('other-key', { kind: 'apiKey', userId: userId(2) });
  });
  afterAll(() => shop.stop());

  it('counts per user, over all their credentials, and reports what remains', async () => {
    const statuses: number[] = [];
    for (let n = 0; n < 4; n++) statuses.push((await shop.get('/v3/store/inventory', { api_key: 'key' })).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
    const response = await shop.get('/v3/store/inventory', { api_key: 'key' });
    expect(await response.json()).toMatchObject({ code: 'too-many-requests', status: 429 });
    expect(response.headers.get('ratelimit-policy')).toBe('"requests";q=3;w=60');
    expect(response.headers.get('ratelimit')).toMatch(/^"requests";r=0;t=\d+$/);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await shop.get('/v3/store/inventory', { api_key: 'second-key' })).status).toBe(429);
    expect((await shop.get('/v3/store/inventory', { api_key: 'other-key' })).status).toBe(200);
  });

  it('limits guesses of credentials per address, and with them the checks by identity', async () => {
    const guess = async (n: number): Promise<number> => (await shop.get('/v3/store/inventory', { api_key: `guess-${n}` })).status;
    const statuses: number[] = [];
    for (let n = 0; n < 5; n++) statuses.push(await guess(n));
    expect(statuses).toEqual([401, 401, 401, 429, 429]);
    const { checks } = shop.identity;
    await guess(6);
    expect(shop.identity.checks).toBe(checks);
    expect((await shop.get('/v3/store/inventory', { api_key: 'other-key' })).status).toBe(200);
    expect((await shop.get('/v3/plant/1')).status).toBe(429);
    // Logout looks the session up, too.
    expect((await shop.get('/v3/user/logout', { session_token: 'guess' })).status).toBe(429);
  });

  it('does not count health checks', async () => {
    for (let n = 0; n < 5; n++) expect((await shop.get('/livez')).status).toBe(200);
  });
});
