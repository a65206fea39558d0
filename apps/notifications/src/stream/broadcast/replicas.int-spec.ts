import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '@plant-shop/testing/until';
import { logAndCrash } from '../../log/log.spec.fixture.js';
import { Shop, updates } from '../stream.spec.fixture.js';

const handshake = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
};

describe('replicas of the stream', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await Shop.open();
  });
  afterEach(() => shop.reset());
  afterAll(() => shop.close());

  it('each sends every event to every socket, whichever replica logged it (slow)', async () => {
    const replicas = await Promise.all([shop.start(), shop.start(), shop.start()]);
    const clients = await Promise.all(replicas.flatMap((one) => [one.opened(), one.opened('api_key=admin&cursor=latest')]));
    for (let n = 0; n < 50; n++) {
      shop.move(n % 5);
      if (n % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    }
    for (const [n, client] of clients.entries()) {
      await client.has(100);
      if (n % 2 === 0) expect(client.frames).toEqual(shop.feed.map(({ body }) => body));
      else expect(client.events.map(({ id }) => id)).toEqual(shop.feed.map(({ id }) => id));
    }
  });

  it('read events whose message was lost from the log, within about a second (slow)', async () => {
    const replica = await shop.start();
    const client = await replica.opened();
    // Like a replica that crashes before it announces the events.
    const events = [1, 2, 3, 4, 5].map((seq) => ({
      seq,
      id: randomUUID(),
      subject: '00000000-0000-4000-8000-000000000001',
      body: JSON.stringify({ event: 'order.status_changed', data: { orderId: seq } }),
    }));
    const [first, again, ...others] = events;
    const begun = performance.now();
    await logAndCrash(shop.sql, shop.epoch, [first!, { ...again!, id: first!.id, body: first!.body }, ...others], { upTo: 3 });
    await client.has(2);
    expect(performance.now() - begun).toBeLessThan(2_500);
    // Neither repetitions nor events beyond the watermark.
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    expect(client.frames).toEqual([first!.body, others[0]!.body]);
    expect(await replica.metric('stream_ring_misses_total')).toBe(1);
  });

  it('read from the log what is too large for a message (slow)', async () => {
    const [left, right] = await Promise.all([shop.start(), shop.start()]);
    const clients = await Promise.all([left.opened(), right.opened()]);
    shop.move(Array.from({ length: 20 }, () => ({ newStatus: 'x'.repeat(40_000) })), { silently: true });
    for (const client of clients) {
      await client.has(20);
      expect(client.frames).toEqual(shop.feed.map(({ body }) => body));
    }
  });

  it('announce nothing again after the log was restored (slow)', async () => {
    const nats = await shop.connect();
    const announced: { upTo: number; reachedAt: number }[] = [];
    nats.connection.subscribe('notifications.fanout', { callback: (_error, message) => void announced.push(message.json()) });
    shop.move(3, { silently: true });
    const replica = await shop.start();
    await shop.isLogged();
    const client = await replica.opened();
    // After lost numbers, a replica announces what it reads from the log.
    shop.beginEpoch(1, 20);
    shop.move(3, { silently: true });
    await until(() => announced.some(({ upTo }) => upTo === 26));
    shop.storeIsDown = true;
    const before = announced.length;
    await shop.restoreLog(3);
    expect((await client.closed).code).toBe(4200);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await nats.close(1_000);
    expect(announced.slice(before)).toEqual([]);
  });

  it('a stopping one closes its clients with 4200, refuses new ones, and aborts none (slow)', async () => {
    const [left, right] = await Promise.all([shop.start(), shop.start()]);
    const clients = await left.openedMany(200, 'api_key=key&cursor=latest');
    const waiting = left.ask(`${updates}?api_key=key&wait=20`);
    await until(async () => (await left.metric('stream_connections')) === 201);
    const events = shop.move(3);
    const stopped = left.stop();
    // While other clients are still open: they are closed in parts.
    await until(() => clients.some(({ socket }) => socket.readyState === socket.CLOSED));
    const refused = await left.ask(`${updates}?api_key=key`, handshake);
    expect(refused).toMatchObject({ status: 503, headers: { 'retry-after': expect.stringMatching(/^[1-5]$/) as unknown } });
    const ends = await Promise.all(clients.map((client) => client.closed));
    expect(new Set(ends.map(({ code }) => code))).toEqual(new Set([4200]));
    expect((await waiting).status).toBe(200);
    await stopped;
    const again = await Promise.all(
      clients.slice(0, 20).map(async (client) => ({
        client,
        next: await right.opened(`api_key=key&cursor=${client.events.at(-1)?.cursor ?? 'earliest'}`),
      })),
    );
    for (const { client, next } of again) {
      await until(() => client.frames.length + next.frames.length >= 3);
      expect([...client.events, ...next.events].map(({ id }) => id)).toEqual(events.map(({ id }) => id));
    }
  }, 15_000);
});
