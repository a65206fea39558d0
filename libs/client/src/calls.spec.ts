import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from '@jest/globals';
import { answered, cutShort, Elsewhere, hangUp, json, page, problem, silence } from './calls.spec.fixture.js';
import { createShop, type Credential, ShopError, type ShopOptions } from './index.js';

// tests/acceptance covers the shop itself. These tests cover failures between shop and client, and wrong use by clients.

const CLIENT = new URL('../dist/index.js', import.meta.url).href;
/**
 * Prints how the call ended and what remained 50 ms after it. The call has five turns of the event loop to end: turns take microseconds,
 * and their number does not depend on how busy the machine is.
 */
const abortsACall = `
  import { getEventListeners } from 'node:events';
  const { createShop } = await import(process.env.CLIENT);
  const { setImmediate: turn, setTimeout: sleep } = await import('node:timers/promises');
  const stop = new AbortController();
  const shop = createShop({ url: process.env.URL, credential: JSON.parse(process.env.CREDENTIAL) });
  const call = shop.POST('/store/order', { body: { plantId: 7 }, signal: stop.signal });
  let reason = 'still waiting';
  call.catch((error) => (reason = error.message));
  await new Promise((resolve) => process.stdin.once('data', resolve));
  process.stdin.destroy();
  stop.abort(new Error('enough'));
  for (let turns = 0; turns < 5; turns += 1) await turn();
  const ended = reason;
  await sleep(50);
  const handles = process.getActiveResourcesInfo().filter((name) => !/^(Pipe|TTY|FS)/.test(name));
  console.log(JSON.stringify({ reason: ended, handles, listeners: getEventListeners(stop.signal, 'abort').length }));
`;

const servers: Elsewhere[] = [];
const start = async (...answers: Parameters<typeof Elsewhere.start>): Promise<Elsewhere> => {
  const server = await Elsewhere.start(...answers);
  servers.push(server);
  return server;
};
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

const credential: Credential = { apiKey: 'k' };
const shopAt = (url: string, options: Partial<ShopOptions> = {}) => createShop({ url, credential, deadlineMs: 10_000, ...options });
const order = { id: 1, plantId: 7, quantity: 1, status: 'placed', complete: false };
const place = (url: string, options?: Partial<ShopOptions>) => shopAt(url, options).POST('/store/order', { body: { plantId: 7 } });
const errorOf = async (work: Promise<unknown>): Promise<ShopError> => {
  const error = await work.then(() => new Error('it succeeded'), (thrown: unknown) => thrown);
  if (!(error instanceof ShopError)) throw error as Error;
  return error;
};
const keysOf = ({ requests }: Elsewhere) => requests.map(({ headers }) => headers['idempotency-key']);

describe('the event stream', () => {
  it.each([
    ["the shop's gateway", problem(404, 'route-not-found')],
    ['a proxy', page(404)],
  ])('that is missing at the address, by the 404 of %s, is an error that names streamUrl', async (_, answer) => {
    const { url } = await start(answer);
    for (const cursor of ['latest', 'e-7']) {
      for (const options of [{}, { WebSocket: undefined }]) {
        const error = await errorOf(shopAt(url, options).events({ cursor }).opened());
        expect([error.kind, error.outcome, error.message]).toEqual(['stream-not-found', 'refused', expect.stringContaining('streamUrl')]);
      }
    }
  });
});

describe('a call in a runtime without the global crypto', () => {
  it('is a typed error if it needs a key, and works with one', async () => {
    const server = await start(json(order));
    const found = Object.getOwnPropertyDescriptor(globalThis, 'crypto') ?? {};
    Object.defineProperty(globalThis, 'crypto', { value: undefined, configurable: true });
    try {
      expect((await errorOf(place(server.url))).kind).toBe('missing-crypto');
      expect(server.requests).toEqual([]);
      await shopAt(server.url).POST('/store/order', { body: { plantId: 7 }, idempotencyKey: 'mine' });
      await shopAt(server.url).GET('/store/order/{orderId}', { params: { path: { orderId: 1 } } });
    } finally {
      Object.defineProperty(globalThis, 'crypto', found);
    }
  });
});

describe('a call with an Idempotency-Key', () => {
  it.each([
    ['a lost connection', hangUp],
    ["a proxy's 502", page(502)],
    ['an outcome that is unknown', problem(503, 'outcome-unknown')],
    ['an overloaded shop', problem(503, 'overloaded')],
    ['a body that ends early', cutShort],
  ])('is sent again with the same key and body after %s', async (_, failure) => {
    const server = await start(failure, failure, json(order));
    expect((await place(server.url)).data).toEqual(order);
    expect(server.requests).toHaveLength(3);
    expect(new Set(keysOf(server)).size).toBe(1);
    expect(keysOf(server)[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(new Set(server.bodies)).toEqual(new Set(['{"plantId":7}']));
  });

  it('waits as long as Retry-After says (slow)', async () => {
    const server = await start(problem(429, 'too-many-requests', { 'retry-after': '1' }), json(order));
    const begun = performance.now();
    await place(server.url);
    expect(performance.now() - begun).toBeGreaterThanOrEqual(1_000);
  });

  it('does not wait beyond the deadline, and reports that it had no effect', async () => {
    const server = await start(problem(429, 'too-many-requests', { 'retry-after': '60' }));
    const begun = performance.now();
    expect(await errorOf(place(server.url))).toMatchObject({ kind: 'problem', code: 'too-many-requests', outcome: 'not-done', retryAfterMs: 60_000 });
    expect(performance.now() - begun).toBeLessThan(1_000);
  });

  it('knows that it was refused, however late the refusal came', async () => {
    const late = async (): Promise<Response> => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      return Response.json({ type: 'https://shop/problems', title: 'Forbidden', status: 403, code: 'forbidden', requestId: 'r' }, { status: 403, headers: { 'content-type': 'application/problem+json' } });
    };
    expect(await errorOf(place('http://shop', { deadlineMs: 50, fetch: late }))).toMatchObject({ status: 403, outcome: 'refused' });
  });

  it('fails at its deadline with the key to repeat it', async () => {
    const server = await start(silence);
    const error = await errorOf(place(server.url, { deadlineMs: 200 }));
    expect(error).toMatchObject({ kind: 'deadline', outcome: 'unknown', idempotencyKey: keysOf(server)[0] });
  });

  it('has an unknown outcome if only its last attempt is known to have had no effect', async () => {
    const server = await start(hangUp, problem(503, 'unavailable', { 'retry-after': '60' }));
    expect(await errorOf(place(server.url))).toMatchObject({ code: 'unavailable', outcome: 'unknown' });
  });

  it('has an unknown outcome if only its credential is refused when it is repeated', async () => {
    for (const [status, code] of [[401, 'credential-refused'], [403, 'forbidden']] as const) {
      const server = await start(hangUp, problem(status, code));
      expect(await errorOf(place(server.url))).toMatchObject({ code, outcome: 'unknown', idempotencyKey: keysOf(server)[0] });
      const once = await start(problem(status, code));
      expect(await errorOf(place(once.url))).toMatchObject({ code, outcome: 'refused' });
    }
  });

  it('uses a key given by the caller', async () => {
    const server = await start(json(order));
    await shopAt(server.url).POST('/store/order', { body: { plantId: 7 }, idempotencyKey: 'two-for-ada' });
    expect(keysOf(server)).toEqual(['two-for-ada']);
  });
});

describe('a call that might take effect twice', () => {
  it.each([
    ['PUT', (url: string) => shopAt(url).PUT('/plant', { body: { id: 1, name: 'x' } })],
    ['DELETE', (url: string) => shopAt(url).DELETE('/plant/{plantId}', { params: { path: { plantId: 1 } } })],
    ['a login', (url: string) => shopAt(url).GET('/user/login', { params: { query: { username: 'a', password: 'b' } } })],
    ['a POST without a credential', (url: string) => createShop({ url }).POST('/store/order', { body: { plantId: 7 } })],
  ])('is not repeated after a lost connection, and has an unknown outcome: %s', async (_, call) => {
    const server = await start(hangUp, json({}));
    expect((await errorOf(call(server.url))).outcome).toBe('unknown');
    expect(server.requests).toHaveLength(1);
  });

  it('is repeated when it had no effect', async () => {
    const server = await start(problem(503, 'unavailable'), json({ code: 200, type: 'SUCCESS', message: '1' }));
    await shopAt(server.url).DELETE('/plant/{plantId}', { params: { path: { plantId: 1 } } });
    expect(server.requests).toHaveLength(2);
  });
});

describe('an import', () => {
  it('is sent as its lines', async () => {
    const server = await start(answered(200, { 'content-type': 'application/x-ndjson' }, '{"lines":2,"complete":true}\n'));
    const body = '{"id":1,"name":"Fern"}\n{"id":2,"name":"Moss"}\n';
    const { data } = await shopAt(server.url).POST('/plant/import', { body, parseAs: 'text' });
    expect(data).toBe('{"lines":2,"complete":true}\n');
    expect(server.bodies).toEqual([body]);
    expect(server.requests[0]?.headers['content-type']).toBe('application/x-ndjson');
  });
});

describe('an error describes the failure', () => {
  it.each(['', 'shop', 'ftp://shop', 'http://shop/greenhouse', 'http://ada:secret@shop', 'http://shop?x=1'])('with the address "%s"', (url) => {
    expect(() => createShop({ url })).toThrow(expect.objectContaining({ kind: 'invalid-url' }));
  });

  it('when no server listens, and when the name does not exist', async () => {
    const server = await start(silence);
    await server.stop();
    expect(await errorOf(place(server.url, { deadlineMs: 1_500 }))).toMatchObject({ kind: 'unreachable', reason: 'ECONNREFUSED', outcome: 'not-done' });
    const begun = performance.now();
    const error = await errorOf(place('http://shop.invalid'));
    expect(error.kind).toBe('unreachable');
    // No repetition if the name is known not to exist, which a machine without DNS cannot know.
    if ('reason' in error && error.reason === 'ENOTFOUND') expect(performance.now() - begun).toBeLessThan(2_500);
  });

  it("when a proxy answers with a page (slow)", async () => {
    const server = await start(page(200));
    expect(await errorOf(place(server.url))).toMatchObject({ kind: 'not-the-shop', status: 200, contentType: 'text/html', excerpt: expect.stringContaining('Bad gateway') });
    const absent = await start(page(404));
    expect(await errorOf(place(absent.url))).toMatchObject({ kind: 'not-the-shop', status: 404, outcome: 'refused' });
  });

  it('when a redirect is answered, which is not followed: the key would go to another server', async () => {
    const other = await start(json(order));
    const server = await start(answered(302, { location: `${other.url}/v3/store/order` }, ''));
    expect(await errorOf(place(server.url))).toMatchObject({ kind: 'not-the-shop', status: 302 });
    expect(other.requests).toHaveLength(0);
  });

  it('when the answer is declared as JSON but is not', async () => {
    const server = await start(answered(200, { 'content-type': 'application/json' }, '{"id": 1'));
    expect(await errorOf(place(server.url))).toMatchObject({ kind: 'invalid-json', excerpt: '{"id": 1', outcome: 'unknown' });
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    ["a proxy's page", page(200)],
    ['a page with an error', page(502)],
    ['a redirect', answered(302, { location: 'http://127.0.0.1:9/v3/user/login?username=ada&password=a-secret' }, '')],
    ['half of an answer', answered(200, { 'content-type': 'application/json' }, '{"id": 1')],
    ['a broken connection', cutShort],
  ])('without the query of the address, which may have a password: %s', async (_, answer) => {
    const server = await start(answer);
    const error = await errorOf(shopAt(server.url).GET('/user/login', { params: { query: { username: 'ada', password: 'a-secret' } } }));
    expect(JSON.stringify([error.message, error])).not.toContain('a-secret');
  });

  it('when the token endpoint refuses the client', async () => {
    const server = await start(json({ error: 'invalid_client', error_description: 'no such client' }, 401));
    const error = await errorOf(place(server.url, { credential: { clientId: 'a', clientSecret: 'b' } }));
    expect(error).toMatchObject({ kind: 'credential', error: 'invalid_client', outcome: 'refused' });
    expect(server.requests).toHaveLength(1);
  });

  it('when the version has not changed', async () => {
    const server = await start(answered(304, { etag: '"3"' }, ''));
    expect(await errorOf(shopAt(server.url).GET('/plant/{plantId}', { params: { path: { plantId: 1 } }, headers: { 'if-none-match': '"3"' } }))).toMatchObject({ kind: 'not-modified', etag: '"3"' });
  });
});

describe('a token', () => {
  it('is requested again while its endpoint is temporarily unavailable', async () => {
    const server = await start(json({ error: 'temporarily_unavailable' }, 503), json({ access_token: 't', expires_in: 60 }), json(order));
    expect((await place(server.url, { credential: { clientId: 'a', clientSecret: 'b' } })).data.id).toBe(1);
    expect(server.requests[2]?.headers.authorization).toBe('Bearer t');
  });
});

describe('a credential that expires', () => {
  it('is renewed once for all calls in flight', async () => {
    const server = await start((request, response) => {
      if (request.headers.authorization !== 'Bearer 2') problem(401, 'credential-refused')(request, response);
      else json(order)(request, response);
    });
    const asked: (string | undefined)[] = [];
    let tokens = 0;
    const shop = shopAt(server.url, {
      credential: {
        token: async ({ refused }) => {
          asked.push(refused);
          await sleep(20);
          return `${(tokens += 1)}`;
        },
      },
    });
    const calls = Array.from({ length: 20 }, () => shop.GET('/store/order/{orderId}', { params: { path: { orderId: 1 } } }));
    expect((await Promise.all(calls)).map(({ data }) => data.id)).toEqual(Array(20).fill(1));
    expect(asked).toEqual([undefined, '1']);
  });

  it('is renewed before it expires (slow)', async () => {
    const server = await start(json(order));
    let tokens = 0;
    const shop = shopAt(server.url, { credential: { token: async () => ({ token: `${(tokens += 1)}`, expiresInMs: 4_000 }) } });
    const read = () => shop.GET('/store/order/{orderId}', { params: { path: { orderId: 1 } } });
    await read();
    await read();
    expect(tokens).toBe(1);
    // Half of its life.
    await sleep(2_100);
    await read();
    expect(tokens).toBe(2);
  });

  it('is renewed only once if the new one is refused as well', async () => {
    const server = await start(problem(401, 'credential-refused'));
    let tokens = 0;
    expect(await errorOf(place(server.url, { credential: { token: async () => `${(tokens += 1)}` } }))).toMatchObject({ code: 'credential-refused', outcome: 'refused' });
    expect([tokens, server.requests.length]).toEqual([2, 2]);
  });

  it('is still obtained for the other calls when one is aborted', async () => {
    const server = await start(json(order));
    const shop = shopAt(server.url, { credential: { token: async ({ signal }) => (await sleep(100, undefined, { signal }), 't') } });
    const stop = new AbortController();
    const read = (signal?: AbortSignal) => shop.GET('/store/order/{orderId}', { params: { path: { orderId: 1 } }, ...(signal && { signal }) });
    const [aborted, other] = [read(stop.signal), read()];
    stop.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
    expect((await other).data.id).toBe(1);
  });
});

describe('a list', () => {
  it('fetches the next page when needed, always from the address of the shop', async () => {
    const server = await start(
      json([{ id: 3 }, { id: 2 }], 200, { link: '<https://elsewhere.example/v3/store/order?cursor=c%2B1&limit=2>; rel="next"' }),
      json([{ id: 1 }]),
    );
    const ids: number[] = [];
    for await (const { id } of shopAt(server.url).list('/store/order', { owner: '*', status: ['placed', 'approved'], limit: 2 })) {
      ids.push(id);
      expect(server.requests).toHaveLength(id > 1 ? 1 : 2);
    }
    expect(ids).toEqual([3, 2, 1]);
    expect(server.requests.map(({ url }) => url)).toEqual([
      '/v3/store/order?owner=*&status=placed,approved&limit=2',
      '/v3/store/order?owner=*&status=placed,approved&limit=2&cursor=c%2B1',
    ]);
  });
});

describe('an abort', () => {
  /** Aborts a call in a separate process, which exits when nothing is left behind. */
  const abortCall = async (server: Elsewhere, shown: Credential): Promise<Record<string, unknown>> => {
    const env = { ...process.env, CLIENT, URL: server.url, CREDENTIAL: JSON.stringify(shown) };
    const running = promisify(execFile)(process.execPath, ['--input-type=module', '-e', abortsACall], { env, timeout: 20_000 });
    for (const end = Date.now() + 20_000; server.requests.length === 0 && Date.now() < end; ) await sleep(10);
    await sleep(200);
    running.child.stdin?.write('now');
    return JSON.parse((await running).stdout) as Record<string, unknown>;
  };

  it.each([
    ['waiting for an answer', silence, credential],
    ['waiting for the rest of an answer', answered(200, { 'content-type': 'application/json', 'content-length': '999' }, '{'), credential],
    ['pausing before a repetition', problem(503, 'unavailable', { 'retry-after': '20', connection: 'close' }), credential],
    ['waiting for a token', silence, { clientId: 'a', clientSecret: 'b' }],
  ] as const)('ends a call that is %s at once, and leaves no timer, socket or listener (slow)', async (_, answer, shown) => {
    const server = await start(answer);
    const { handles, listeners, reason } = await abortCall(server, shown);
    expect(server.requests).toHaveLength(1);
    expect({ listeners, reason }).toEqual({ listeners: 0, reason: 'enough' });
    // Not the library's: when a request is aborted before its answer begins, Node's fetch replaces the connection by another one in its
    // pool, where it stays for 4 s (seen with Node 20 and 26).
    expect((handles as string[]).filter((name) => !/^(TCPSocketWrap|ConnectWrap)$/.test(name))).toEqual([]);
    expect((handles as string[]).filter((name) => name === 'TCPSocketWrap').length).toBeLessThanOrEqual(1);
  });

  it('before the call sends nothing', async () => {
    const server = await start(json(order));
    await expect(shopAt(server.url).POST('/store/order', { body: { plantId: 7 }, signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough');
    expect(server.requests).toHaveLength(0);
  });
});

