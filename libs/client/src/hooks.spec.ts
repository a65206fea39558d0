import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from '@jest/globals';
import { answered, Elsewhere, hangUp, json, page, problem } from './calls.spec.fixture.js';
import { createShop, type Credential, type Hooks, type Shop, type ShopOptions } from './index.js';

const servers: Elsewhere[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

/** Prints the answer of a call whose hooks throw, and what they threw. In a process of its own: Jest takes uncaught errors for its own. */
const throwing = `
  const { createShop } = await import(process.env.CLIENT);
  const uncaught = [];
  process.on('uncaughtException', ({ message }) => uncaught.push(message));
  const broken = (message) => () => { throw new Error(message); };
  const hooks = Object.fromEntries(['onRequest', 'onResponse', 'onRetry'].map((name) => [name, broken(name)]));
  const { data } = await createShop({ url: process.env.URL, credential: { apiKey: 'k' }, hooks }).orders.place({ plantId: 7 });
  console.log(JSON.stringify({ data, uncaught }));
`;

type Seen = [hook: keyof Hooks, event: object];
/** Starts a server with these answers, and a shop whose hooks record what they see. */
async function start(answers: Parameters<typeof Elsewhere.start>, options: Partial<ShopOptions> = {}): Promise<{ readonly shop: Shop; readonly server: Elsewhere; readonly seen: Seen[] }> {
  const server = await Elsewhere.start(...answers);
  servers.push(server);
  const seen: Seen[] = [];
  const record = (hook: keyof Hooks) => (event: object) => void seen.push([hook, event]);
  const hooks: Hooks = { onRequest: record('onRequest'), onResponse: record('onResponse'), onRetry: record('onRetry') };
  return { shop: createShop({ url: server.url, credential: { apiKey: 'the-secret' }, deadlineMs: 3_000, hooks, ...options }), server, seen };
}
const order = { id: 1, plantId: 7 };

describe('hooks', () => {
  it('follow the attempts of each call', async () => {
    const { shop, seen } = await start([hangUp, problem(503, 'overloaded', { 'x-request-id': 'r-1' }), json(order, 200, { 'x-request-id': 'r-2' })]);
    await shop.orders.place({ plantId: 7 });
    await shop.orders.get(7);
    const about = (attempt: number, call = 1) => ({ operation: call === 1 ? 'POST /store/order' : 'GET /store/order/{orderId}', call, attempt });
    const timed = { durationMs: expect.any(Number) };
    expect(seen).toEqual([
      ['onRequest', about(1)],
      ['onRetry', { ...about(1), reason: 'unreachable', pauseMs: expect.any(Number) }],
      ['onRequest', about(2)],
      ['onResponse', { ...about(2), ...timed, status: 503, requestId: 'r-1' }],
      ['onRetry', { ...about(2), reason: 'overloaded', pauseMs: expect.any(Number) }],
      ['onRequest', about(3)],
      ['onResponse', { ...about(3), ...timed, status: 200, requestId: 'r-2' }],
      ['onRequest', about(1, 2)],
      ['onResponse', { ...about(1, 2), ...timed, status: 200, requestId: 'r-2' }],
    ]);
  });

  it('see a renewed credential as an attempt without a pause', async () => {
    const { shop, seen } = await start([problem(401, 'credential-refused'), json(order)], { credential: { token: async () => 't' } });
    await shop.orders.get(7, undefined, { retries: 0 });
    expect(seen.find(([hook]) => hook === 'onRetry')?.[1]).toMatchObject({ attempt: 1, reason: 'credential-refused', pauseMs: 0 });
  });

  it.each<[string, Parameters<typeof Elsewhere.start>[0]]>([
    ['an answer', json({ code: 200, type: 'SUCCESS', message: 'session the-secret' })],
    ["a proxy's page", page(502)],
    ['a redirect', answered(302, { location: '/?password=the-secret' }, '')],
    ['a lost connection', hangUp],
  ])('see no secret, key, id or query, with %s (slow)', async (_, answer) => {
    const credentials: Credential[] = [{ apiKey: 'the-secret' }, { token: async () => 'the-secret' }];
    for (const credential of credentials) {
      const { shop, seen } = await start([answer], { credential, deadlineMs: 500 });
      await Promise.allSettled([
        shop.users.login({ username: 'the-secret', password: 'the-secret' }),
        shop.orders.place({ plantId: 7, externalId: 'the-secret' }, { idempotencyKey: 'the-secret', headers: { 'current-password': 'the-secret' } }),
        shop.users.get('the-secret'),
        shop.POST('/user/{username}/apiKeys', { params: { path: { username: 'the-secret' } }, body: { name: 'the-secret' } }),
      ]);
      expect(seen.length).toBeGreaterThan(4);
      expect(JSON.stringify(seen)).not.toContain('the-secret');
    }
  });

  it('that throw change no call, and are reported as uncaught (slow)', async () => {
    const { server } = await start([problem(503, 'overloaded', { 'retry-after': '0' }), json(order)]);
    const env = { ...process.env, CLIENT: new URL('../dist/index.js', import.meta.url).href, URL: server.url };
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', throwing], { env, timeout: 20_000 });
    expect(JSON.parse(stdout)).toEqual({ data: order, uncaught: ['onRequest', 'onResponse', 'onRetry', 'onRequest', 'onResponse'] });
  });
});

describe('retries', () => {
  it.each([
    [{ retries: 0 }, {}, 1],
    [{ retries: 2 }, {}, 3],
    [{ retries: 5 }, { retries: 1 }, 2],
    [{}, { retries: 3 }, 4],
  ])('of the shop %j and of the call %j allow %i attempts (slow)', async (ofShop, ofCall, attempts) => {
    const { shop, server } = await start([problem(503, 'overloaded', { 'retry-after': '0' })], ofShop);
    await expect(shop.orders.place({ plantId: 7 }, ofCall)).rejects.toMatchObject({ code: 'overloaded', outcome: 'not-done' });
    expect(server.requests).toHaveLength(attempts);
    const list = await start([problem(503, 'overloaded', { 'retry-after': '0' })], ofShop);
    await expect(list.shop.orders.list({}, ofCall).next()).rejects.toMatchObject({ code: 'overloaded' });
    expect(list.server.requests).toHaveLength(attempts);
  });
});
