import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { readinessOf } from '@plant-shop/platform/service/readiness';
import { TestCaller } from '@plant-shop/service-testing/service';
import { until } from '@plant-shop/testing/until';
import { type Replica, Shop, updates } from '../stream.spec.fixture.js';

// When and how clients are moved from one replica to another.

const delayOf = (reason: string): number => Number(/; reconnect-after-ms=(\d+)$/.exec(reason)?.[1] ?? NaN);

describe('connections that can resume', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await Shop.open();
  });
  afterEach(() => shop.reset());
  afterAll(() => shop.close());

  it('end at random moments before their maximum age, and lose nothing when they resume at another replica (slow)', async () => {
    const replica = await shop.start({ STREAM_MAX_AGE_SECONDS: '6' });
    const clients = await replica.openedMany(40, 'api_key=key&cursor=latest');
    const begun = performance.now();
    const ends = clients.map(async (client) => ({ ...(await client.closed), afterMs: performance.now() - begun }));
    const moving = setInterval(() => shop.move(), 100);
    const closed = await Promise.all(ends);
    clearInterval(moving);
    expect(new Set(closed.map(({ code }) => code))).toEqual(new Set([4200]));
    const times = closed.map(({ afterMs }) => afterMs);
    expect(Math.max(...times)).toBeLessThan(9_000);
    // Spread over about three seconds, in whole seconds of the replica's clock.
    expect(new Set(times.map((ms) => Math.round(ms / 500))).size).toBeGreaterThanOrEqual(3);
    // They were closed one by one, so they may reconnect at once.
    expect(Math.max(...closed.map(({ reason }) => delayOf(reason)))).toBeLessThanOrEqual(40);
    const other = await shop.start();
    for (const client of clients.slice(0, 10)) {
      const next = await other.opened(`api_key=key&cursor=${client.events.at(-1)?.cursor ?? 'earliest'}`);
      await until(() => client.frames.length + next.frames.length >= shop.feed.length);
      expect([...client.events, ...next.events].map(({ id }) => id)).toEqual(shop.feed.map(({ id }) => id));
    }
  }, 30_000);

  it('have a maximum age by Server-Sent Events, too (slow)', async () => {
    const replica = await shop.start({ STREAM_MAX_AGE_SECONDS: '2' });
    const text = await textOfStream(replica);
    expect(text).toMatch(/^retry: [1-5]\d{3}\n\n/);
    expect(text).toMatch(/event: close\ndata: \{"code":4200,"reason":"going away","reconnectAfterMs":[01]\}\nretry: [01]\n\n$/);
  }, 15_000);

  it('are the only ones with a maximum age: a client without a cursor would lose events until it has reconnected (slow)', async () => {
    const replica = await shop.start({ STREAM_MAX_AGE_SECONDS: '1' });
    const [plain, resumable] = [await replica.opened(), await replica.opened('api_key=key', ['orders.v1.resumable'])];
    expect(await resumable.closed).toMatchObject({ code: 4200 });
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(plain.socket.readyState).toBe(plain.socket.OPEN);
  }, 15_000);

  it('get different reconnect delays from a replica that stops (slow)', async () => {
    const replica = await shop.start();
    const clients = await replica.openedMany(300, 'api_key=key&cursor=latest');
    const stopped = replica.stop();
    const delays = (await Promise.all(clients.map(({ closed }) => closed))).map(({ reason }) => delayOf(reason));
    await stopped;
    expect(delays.every((ms) => ms >= 0 && ms <= 300)).toBe(true);
    expect(Math.max(...delays) - Math.min(...delays)).toBeGreaterThan(200);
    expect(new Set(delays).size).toBeGreaterThan(100);
  }, 15_000);

  it('a full replica accepts clients up to its limit, but is not ready for more (slow)', async () => {
    const replica = await shop.start({ STREAM_MAX_CONNECTIONS: '20' });
    const caller = await TestCaller.connect(shop.nats.url);
    const roomOf = async (): Promise<string | undefined> => (await replica.service.readiness.report({ includeCapacity: true })).checks['room'];
    const clients = await replica.openedMany(18, 'api_key=key');
    await until(async () => (await replica.service.readiness.report({ includeCapacity: true })).ready);
    expect(await replica.metric('stream_full')).toBe(0);
    clients.push(await replica.opened());
    expect(await roomOf()).toBe('full: 19 of 20 connections');
    expect(await replica.metric('stream_full')).toBe(1);
    expect(await replica.metric('stream_connections_limit')).toBe(20);
    // Balancers send it no more clients, but the service itself reports that it works.
    expect(await caller.call(readinessOf('notifications'), {})).toMatchObject({ ready: true });
    clients.push(await replica.opened());
    for (const client of clients.splice(0, 2)) await client.close();
    await until(async () => (await replica.metric('stream_connections')) === 18);
    expect(await roomOf()).toMatch(/^full/);
    await clients.pop()?.close();
    await until(async () => (await roomOf()) === 'ok');
    await caller.close();
  }, 15_000);

  it('a replica without clients reports 0: without a value an autoscaler would count it as busy (slow)', async () => {
    const replica = await shop.start();
    expect(await replica.service.metrics.metrics()).toMatch(/^stream_connections\{transport="websocket",service="notifications"\} 0$/m);
  });
});

/** Returns the whole text of an event stream. */
async function textOfStream(replica: Replica): Promise<string> {
  const asked = request({ port: replica.port, path: `${updates}?api_key=key`, headers: { accept: 'text/event-stream' }, agent: false }).end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  let text = '';
  for await (const piece of response) text += String(piece);
  return text;
}
