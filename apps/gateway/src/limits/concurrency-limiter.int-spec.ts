import { once } from 'node:events';
import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, connect, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { catalog, type Plant } from '@plant-shop/contracts/catalog';
import { DomainError } from '@plant-shop/contracts/errors';
import { store } from '@plant-shop/contracts/store';
import { type Fake, fake } from '@plant-shop/service-testing/service';
import { until } from '@plant-shop/testing/until';
import { userId } from '@plant-shop/service-testing/identity';
import type { GatewayOptions } from '../config.js';
import { echoes, type Shop, startShop } from '../gateway.spec.fixture.js';
import { routeSpecOf, weightOf } from '../http/route.js';
import { ConcurrencyLimiter } from './concurrency-limiter.js';

const plant: Plant = { id: 1, name: 'Fern', photoUrls: [], tags: [], status: 'available', updatedAt: '2026-01-01T00:00:00.000Z' };

describe('load beyond the limits', () => {
  let shop: Shop;
  const sockets: Socket[] = [];
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await shop.stop();
  });

  /** Sends raw text and returns what the server sends until the connection closes. */
  const exchange = (text: string): Promise<string> => {
    const { hostname, port } = new URL(shop.gateway.url);
    return new Promise((resolve) => {
      const socket = connect(Number(port), hostname, () => socket.write(text));
      sockets.push(socket);
      let received = '';
      socket.on('data', (chunk) => (received += chunk.toString()));
      socket.on('error', () => socket.destroy());
      socket.on('close', () => resolve(received));
    });
  };
  const inFlight = async () => (await shop.service.metrics.getSingleMetric('http_requests_in_flight')?.get())?.values[0]?.value;
  const post = (bytes: number, sent: string): string =>
    `POST /v3/user HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${bytes}\r\n\r\n${sent}`;

  it('is rejected at once with 503 while accepted requests are answered (slow)', async () => {
    const slow = fake(catalog.getPlant, () => new Promise<Plant>((resolve) => setTimeout(() => resolve(plant), 300)));
    shop = await startShop({ ...echoes, catalog: [slow] }, { maxInFlight: 20, clientInFlightShare: 100 });
    const answers = await Promise.all(Array.from({ length: 200 }, () => shop.get('/v3/plant/1')));
    const refused = answers.filter(({ status }) => status === 503);
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(20);
    expect(answers.filter(({ status }) => ![200, 503].includes(status))).toEqual([]);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.every(({ headers }) => headers.get('retry-after') !== null)).toBe(true);
    expect(await refused[0]?.json()).toMatchObject({ code: 'overloaded' });
    expect((await shop.get('/v3/plant/1')).status).toBe(200);
  }, 20_000);

  it('closes the connection of a rejected request, and no other (slow)', async () => {
    const never = fake(catalog.getPlant, () => new Promise(() => undefined) as never);
    shop = await startShop({ ...echoes, catalog: [never] }, { maxInFlight: 1 });
    const served = exchange('GET /v3/plant/1 HTTP/1.1\r\nhost: x\r\n\r\n');
    await until(async () => (await shop.get('/v3/plant/2')).status === 503, 15_000);
    const refused = await exchange('GET /v3/plant/2 HTTP/1.1\r\nhost: x\r\n\r\n');
    expect(refused).toMatch(/^HTTP\/1\.1 503 /);
    expect(refused.toLowerCase()).toContain('\r\nconnection: close\r\n');
    expect(refused).toContain('"code":"overloaded"');
    expect(await Promise.race([served, Promise.resolve('still open')])).toBe('still open');
  });

  it('does not affect health checks (slow)', async () => {
    const never = fake(catalog.getPlant, () => new Promise<never>(() => undefined));
    shop = await startShop({ ...echoes, catalog: [never] }, { maxInFlight: 1 });
    void exchange('GET /v3/plant/1 HTTP/1.1\r\nhost: x\r\n\r\n');
    await until(async () => (await shop.get('/v3/plant/2')).status === 503, 15_000);
    expect((await shop.get('/livez')).status).toBe(200);
  });

  it('is bounded for bodies, whose memory is released when their connection closes (slow)', async () => {
    shop = await startShop(echoes, { maxBodyMib: 1, clientInFlightShare: 100 });
    // Each has room for all that it announces when it begins, even after the two others.
    for (let n = 0; n < 3; n++) void exchange(post(360_000, 'x'.repeat(340_000)));
    const create = () => shop.send('POST', '/v3/user', { username: 'a', password: 'b', firstName: 'x'.repeat(60_000) });
    const inMemory = async () => (await shop.service.metrics.getSingleMetric('http_body_bytes_in_flight')?.get())?.values[0]?.value;
    await until(async () => (await inMemory()) === 1_020_000, 15_000);
    expect(await (await create()).json()).toMatchObject({ code: 'overloaded' });
    // Before it is read.
    expect(await exchange(post(60_000, ''))).toContain('"code":"overloaded"');
    for (const socket of sockets.splice(0)) socket.destroy();
    await until(async () => (await inMemory()) === 0, 15_000);
    expect((await create()).status).not.toBe(503);
  }, 20_000);

  it('does not arise from announced body sizes, only from bytes received (slow)', async () => {
    shop = await startShop(echoes, { maxBodyMib: 1 });
    for (let n = 0; n < 50; n++) void exchange(post(390_000, '{'));
    expect((await shop.send('POST', '/v3/user', { username: 'a', password: 'b' })).status).toBe(200);
  });

  it('cannot build up through slow bodies or headers, which time out (slow)', async () => {
    shop = await startShop(echoes, { requestTimeoutMs: 400 });
    const startedAt = performance.now();
    const answers = await Promise.all([exchange(post(100, '{')), exchange('GET /v3/plant/1 HTTP/1.1\r\nhost: x\r\n'), exchange('G')]);
    for (const answer of answers) {
      expect(answer).toMatch(/^HTTP\/1\.1 408 /);
      expect(answer).toContain('"code":"request-timeout"');
    }
    expect(performance.now() - startedAt).toBeLessThan(3_000);
  });

  describe('of one client', () => {
    const never = fake(catalog.getPlant, () => new Promise(() => undefined) as never);
    const start = async (options: Partial<GatewayOptions> = { maxInFlight: 40, maxBodyMib: 4 }, held: Fake = never): Promise<void> => {
      const { service } = held.operation;
      shop = await startShop({ ...echoes, [service]: [...(echoes[service] ?? []).filter(({ operation }) => operation !== held.operation), held] }, options);
      shop.identity.addCredential('greedy', { kind: 'apiKey', userId: userId(1) });
      shop.identity.addCredential('greedy-too', { kind: 'apiKey', userId: userId(1) });
      shop.identity.addCredential('honest', { kind: 'apiKey', userId: userId(2) });
      for (const key of ['greedy', 'greedy-too', 'honest']) expect((await shop.get('/v3/store/inventory', { api_key: key })).status).toBe(200);
    };
    const order = (key: string): Promise<Response> => shop.send('POST', '/v3/store/order', { plantId: 7 }, { api_key: key });

    it('are refused with 429, over all credentials of a user, while others are served (slow)', async () => {
      await start();
      const refused: string[] = [];
      for (const key of ['greedy', 'greedy-too']) {
        for (let n = 0; n < 15; n++) void exchange(`GET /v3/plant/${n + 1} HTTP/1.1\r\nhost: x\r\napi_key: ${key}\r\n\r\n`).then((text) => refused.push(text));
      }
      await until(() => refused.length === 10, 15_000);
      for (const text of refused) {
        expect(text).toMatch(/^HTTP\/1\.1 429 /);
        expect(text).toContain('"code":"too-many-in-flight"');
        expect(text.toLowerCase()).toContain('\r\nretry-after: 1\r\n');
      }
      expect((await order('honest')).status).toBe(200);
      expect((await shop.get('/v3/store/inventory')).status).toBe(401);
      expect((await order('greedy')).status).toBe(429);
    });

    it('that hung up while they waited for their turn call nothing (slow)', async () => {
      /** Plants: a read that takes long is sent again. */
      const called = new Set<number>();
      const answered = Promise.withResolvers<string>();
      const slow = fake(catalog.getPlant, async ({ plantId }) => {
        called.add(plantId);
        return { ...plant, id: plantId, name: await answered.promise };
      });
      await start({ requestBudgetMs: 20_000 }, slow);
      for (let n = 1; n <= 40; n++) void exchange(`GET /v3/plant/${n} HTTP/1.1\r\nhost: x\r\n\r\n`);
      await until(async () => called.size === 32 && (await inFlight()) === 40);
      for (const socket of sockets.splice(0)) socket.destroy();
      await until(async () => (await inFlight()) === 0);
      answered.resolve('Fern');
      expect((await shop.get('/v3/plant/1000')).status).toBe(200);
      expect(called.size).toBe(32 + 1);
    });

    it('that waited for their turn have less time left for their calls (slow)', async () => {
      const timesLeft: number[] = [];
      const answered = Promise.withResolvers<undefined>();
      const slow = fake(store.getOrder, async ({ orderId }, { deadline }) => {
        timesLeft.push(deadline.leftMs);
        await answered.promise;
        throw new DomainError('order-not-found', `There is no order ${orderId}.`);
      });
      await start({ requestBudgetMs: 10_000 }, slow);
      const reads = Array.from({ length: 40 }, (_, n) => shop.get(`/v3/store/order/${n + 1}`, { api_key: 'greedy' }));
      await until(async () => timesLeft.length === 32 && (await inFlight()) === 40);
      await sleep(500);
      answered.resolve(undefined);
      await Promise.all(reads);
      expect(timesLeft).toHaveLength(40);
      expect(Math.max(...timesLeft.slice(32))).toBeLessThanOrEqual(9_500);
    });

    it('that guess credentials wait for their turn to be checked, too (slow)', async () => {
      await start({});
      const before = shop.identity.checks;
      shop.identity.checkDelayMs = 1_500;
      const guesses = Array.from({ length: 50 }, (_, n) => shop.get('/v3/store/inventory', { api_key: `guess-${n}` }));
      await until(async () => shop.identity.checks - before === 32 && (await inFlight()) === 50);
      expect(new Set((await Promise.all(guesses)).map(({ status }) => status))).toEqual(new Set([401]));
    });

    it('that are unfinished hold no slot that others need, nor their memory', async () => {
      await start();
      let closed = 0;
      for (let n = 0; n < 60; n++) void exchange(n < 18 ? post(390_000, 'x'.repeat(380_000)) : post(100, 'x')).then(() => closed++);
      await until(() => closed >= 40, 15_000);
      expect((await order('honest')).status).toBe(200);
      expect((await shop.get('/v3/plant/findByStatus?status=sold')).status).toBe(200);
      expect((await shop.send('POST', '/v3/user', { username: 'a', password: 'b' })).status).toBe(429);
    });
  });
});

describe('calls of services', () => {
  const turns = () => {
    const limiter = new ConcurrencyLimiter({ requests: 5_000, bodyBytes: 1_000_000, clientShare: 0.5 });
    const open: { client: string; answer: () => void }[] = [];
    const call = (client: string, weight = 1): void => {
      const request = new IncomingMessage(new Socket());
      const slot = limiter.acquire(client, request, new ServerResponse(request));
      void limiter.inTurn(slot, weight, () => new Promise<void>((answer) => open.push({ client, answer }))).then(() => limiter.release(slot));
    };
    const times = (count: number, work: () => void): Promise<void> => {
      for (let n = 0; n < count; n++) work();
      return new Promise((resolve) => setImmediate(resolve));
    };
    const openOf = (client: string): number => open.filter((one) => one.client === client).length;
    return { call, times, openOf, open };
  };

  it('are in turns: all of them of one client, shared with others, and few while many call', async () => {
    const { call, times, openOf, open } = turns();
    const answerGreedy = (): void => open.splice(open.findIndex(({ client }) => client === 'greedy'), 1)[0]?.answer();

    await times(100, () => call('greedy'));
    expect(openOf('greedy')).toBe(32);
    await times(20, () => call('honest'));
    expect(openOf('honest')).toBe(2);
    await times(20, answerGreedy);
    expect([openOf('greedy'), openOf('honest')]).toEqual([12, 8]);
    await times(4, answerGreedy);
    expect([openOf('greedy'), openOf('honest')]).toEqual([8, 8]);
    for (let n = 1; n <= 30; n++) call(`one of many ${n}`);
    await times(8, answerGreedy);
    expect(openOf('greedy')).toBe(2);
    expect(open).toHaveLength(30 + 8 + 2);
    let answered = 0;
    for (; open.length > 0; answered++) await times(1, () => open.shift()?.answer());
    expect(answered).toBe(150 - 24 - 8);
  });

  it('weigh what they cost: one heavy call of a client while others call, and light ones do not wait for it', async () => {
    const { call, times, openOf, open } = turns();
    await times(20, () => call('honest'));
    await times(4, () => call('greedy', 16));
    expect(openOf('greedy')).toBe(1);
    await times(2, () => call('another'));
    expect(openOf('another')).toBe(2);
    await times(20, () => open.splice(open.findIndex(({ client }) => client === 'honest'), 1)[0]?.answer());
    expect(openOf('greedy')).toBe(1);
    await times(2, () => open.splice(open.findIndex(({ client }) => client === 'another'), 1)[0]?.answer());
    // Alone now, as of its next answer.
    await times(1, () => open.splice(0, 1)[0]?.answer());
    expect(openOf('greedy')).toBe(2);
  });
});

describe('the weight of a call', () => {
  it.each([
    ['of one thing', store.getOrder, 0, 1],
    ['that the service executes with others', store.placeOrder, 60, 1 / 8],
    ['the same with the bytes of six', store.placeBasket, 700, 6 / 8],
    ['the same with a large body', store.placeOrder, 380 * 1024, 24],
    ['of a search', catalog.searchPlants, 0, 8],
  ])('%s', (_, { client }, bytes, weight) => {
    expect(weightOf({ routeSpec: routeSpecOf(client), body: Buffer.alloc(bytes) })).toBe(weight);
  });
});

describe('a client that is too slow', () => {
  const limits = { requests: 10, bodyBytes: 1_000_000, clientShare: 1 };
  const paces = { bodyMs: 300, streamedBytesPerSecond: 1_000, graceMs: 300, responseMs: 300, checkMs: 50 };

  /** Serves requests as `respond` does, and returns what a client gets that sends `text`, and sends nothing more. */
  async function talk(body: 'whole' | 'streamed' | undefined, text: string, respond: (socket: ServerResponse) => void, { reads = true, forMs = 10_000 } = {}): Promise<string> {
    const limiter = new ConcurrencyLimiter(limits, paces);
    const server = createServer((request, response) => {
      const slot = limiter.acquire('client', request, response, body);
      response.on('close', () => limiter.release(slot));
      request.resume();
      respond(response);
    });
    server.on('clientError', (_, socket) => socket.end('HTTP/1.1 408 Slow\r\n\r\n'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1', () => socket.write(text));
    if (!reads) socket.pause();
    const received = await new Promise<string>((resolve) => {
      let all = '';
      socket.on('data', (chunk) => (all += chunk.toString()));
      socket.on('error', () => undefined);
      socket.on('close', () => resolve(all));
      if (!reads) server.on('connection', (one) => one.on('close', () => resolve('closed')));
      setTimeout(() => resolve('open'), forMs).unref();
    });
    socket.destroy();
    server.close();
    return received;
  }
  const head = 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10000\r\n\r\n';
  const silent = (): void => undefined;

  it.each(['whole', 'streamed'] as const)('with a %s body gets 408', async (body) => {
    expect(await talk(body, `${head}x`, silent)).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('gets 408 also after others have ended, in whatever order (slow)', async () => {
    const limiter = new ConcurrencyLimiter(limits, { ...paces, bodyMs: 2_000 });
    const ended: number[] = [];
    const server = createServer((request, response) => {
      const slot = limiter.acquire('client', request, response, 'whole');
      response.on('close', () => {
        limiter.release(slot);
        ended.push(Number(request.url?.slice(1)));
      });
      request.resume();
    });
    server.on('clientError', (_, socket) => socket.end('HTTP/1.1 408 Slow\r\n\r\n'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const received = ['', '', '', ''];
    const sockets: Socket[] = [];
    for (const n of received.keys()) {
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
      socket.on('error', () => undefined).on('data', (chunk) => (received[n] = `${received[n] ?? ''}${chunk.toString()}`));
      sockets.push(socket);
      const asked = once(server, 'request');
      socket.write(head.replace('/', `/${n}`));
      await asked;
    }
    for (const n of [1, 3]) {
      sockets[n]?.destroy();
      await until(() => ended.includes(n));
    }
    await until(() => ended.length === 4);
    expect(received).toEqual([expect.stringContaining(' 408 '), '', expect.stringContaining(' 408 '), '']);
    server.close();
  });

  it('with a body that has arrived waits for its answer (slow)', async () => {
    expect(await talk('whole', head + 'x'.repeat(10_000), silent, { forMs: 2_000 })).toBe('open');
  });

  it('to read loses the connection; one whose answer is not ready does not (slow)', async () => {
    const large = (response: ServerResponse): unknown => response.end(Buffer.alloc(30_000_000));
    expect(await talk(undefined, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n', large, { reads: false })).toBe('closed');
    expect(await talk(undefined, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n', silent, { forMs: 2_000 })).toBe('open');
  });
});
