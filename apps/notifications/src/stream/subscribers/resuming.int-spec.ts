import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '@plant-shop/testing/until';
import { encodeCursor } from '../../log/history.js';
import { type Client, customer, type FeedEvent, Shop, updates, userId } from '../stream.spec.fixture.js';

describe('resuming', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await Shop.open();
  });
  afterEach(() => shop.reset());
  afterAll(() => shop.close());

  const from = (cursor = ''): string => `api_key=key&cursor=${cursor}`;
  const received = ({ events }: Client) => events.map(({ id, data }) => id ?? data.reason);
  const idsOf = (events: readonly FeedEvent[]) => events.map(({ id }) => id);

  it('loses and repeats nothing across restarts and replicas, while events keep coming (slow)', async () => {
    const seen: (string | undefined)[] = [];
    let cursor: string | undefined = 'latest';
    let [left, right] = await Promise.all([shop.start(), shop.start()]);
    for (let round = 0; round < 8; round++) {
      const client = await (round % 2 === 0 ? left : right).opened(from(cursor));
      const before = shop.feed.length;
      shop.move(40, { silently: round % 3 === 2 });
      // The client disconnects in the middle of them.
      await until(() => client.frames.length > (before - seen.length) / 2);
      client.socket.terminate();
      seen.push(...received(client));
      cursor = client.events.at(-1)?.cursor ?? cursor;
      if (round === 3) {
        await Promise.all([left.stop(), right.stop()]);
        shop.move(30, { silently: true });
        [left, right] = await Promise.all([shop.start({ STREAM_RING_EVENTS: '10' }), shop.start()]);
      }
    }
    const last = await left.opened(from(cursor));
    await until(() => seen.length + last.frames.length >= shop.feed.length);
    expect([...seen, ...received(last)]).toEqual(idsOf(shop.feed));
  }, 20_000);

  it('starts with the oldest event for `earliest` (slow)', async () => {
    const events = shop.move(1_200, { silently: true });
    const replica = await shop.start({ STREAM_RING_EVENTS: '100' });
    await shop.isLogged();
    const client = await replica.opened(from('earliest'));
    const more = shop.move(3);
    await client.has(1_203);
    expect(received(client)).toEqual(idsOf([...events, ...more]));
  });

  it('continues from the log to new events without a gap or a repetition (slow)', async () => {
    shop.move(2_000, { silently: true });
    const replica = await shop.start({ STREAM_RING_EVENTS: '10' });
    await shop.isLogged();
    const clients = await Promise.all(Array.from({ length: 5 }, () => replica.opened(from('earliest'))));
    for (let n = 0; n < 20; n++) {
      shop.move(5);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    for (const client of clients) {
      await client.has(2_100);
      expect(received(client)).toEqual(idsOf(shop.feed));
    }
  });

  it('finds own events among those of other customers (slow)', async () => {
    shop.move(Array.from({ length: 3_000 }, (_, n) => ({ subject: n % 1_000 === 7 ? customer : userId(9) })), { silently: true });
    const replica = await shop.start({ STREAM_RING_EVENTS: '10' });
    await shop.isLogged();
    const client = await replica.opened(from('earliest'));
    const last = shop.move();
    await client.has(4);
    expect(received(client)).toEqual(idsOf([...shop.feed.filter(({ seq }) => [8, 1_008, 2_008].includes(seq)), ...last]));
  });

  it('sends one gap notice for a cursor older than the log, then the oldest events (slow)', async () => {
    shop.move(30, { silently: true });
    const replica = await shop.start({ STREAM_RING_EVENTS: '10' });
    await shop.isLogged();
    const first = await replica.opened(from('earliest'));
    await first.has(30);
    await shop.sql.query('DELETE FROM event_log WHERE seq < 15');
    await shop.sql.query('UPDATE log_kept SET oldest = 15');
    const client = await replica.opened(from(first.events[3]?.cursor));
    await client.has(17);
    expect(received(client)).toEqual(['cursor-too-old', ...idsOf(shop.feed.slice(14))]);
    expect(client.events[0]).toEqual({
      event: 'stream.gap',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      cursor: expect.stringMatching(/^[\w-]{32}$/),
      data: { reason: 'cursor-too-old' },
    });
    // The gap notice has its own cursor, so it is not sent again.
    const again = await replica.opened(from(client.events[0]?.cursor));
    await again.has(16);
    expect(received(again)).toEqual(idsOf(shop.feed.slice(14)));
    const earliest = await replica.opened(from('earliest'));
    await earliest.has(16);
    expect(received(earliest)).toEqual(idsOf(shop.feed.slice(14)));
  });

  it('sends no gap notice to a client that was idle for longer than the log is kept: pings have its cursor (slow)', async () => {
    const replica = await shop.start({ STREAM_RING_EVENTS: '10', STREAM_PING_SECONDS: '2' });
    const [client, plain] = await Promise.all([replica.opened(`${from('latest')}&plantId=8`), replica.opened('api_key=key&plantId=8')]);
    shop.move(30);
    await shop.isLogged();
    // The replica may not have followed all of the log yet.
    const latest = async () => (JSON.parse((await replica.ask(`${updates}?${from('latest')}`)).body) as { cursor: string }).cursor;
    await until(async () => client.pinged === (await latest()));
    expect([client.frames, plain.frames, plain.pinged]).toEqual([[], [], '']);
    await shop.forgetLog();
    const again = await replica.opened(`${from(client.pinged)}&plantId=8`);
    const [, wanted] = shop.move([{}, { plantId: 8 }]);
    await again.has(1);
    expect(received(again)).toEqual([wanted?.id]);
  });

  it('pings a client with no cursor beyond an event that it was not sent (slow)', async () => {
    shop.move(3_000, { silently: true });
    const replica = await shop.start({ STREAM_RING_EVENTS: '10', STREAM_PING_SECONDS: '2' });
    await shop.isLogged();
    const { cursor } = JSON.parse((await replica.ask(`${updates}?${from('latest')}`)).body) as { cursor: string };
    const [slow, live] = await Promise.all([replica.opened(from('earliest')), replica.opened(from('latest'))]);
    const check = (client: Client, begin: string): string[] => {
      const wrong: string[] = [];
      client.socket.on('ping', () => client.pinged !== (client.events.at(-1)?.cursor ?? begin) && wrong.push(client.pinged));
      return wrong;
    };
    const checks = [check(slow, encodeCursor({ epoch: shop.epoch, seq: 0 })), check(live, cursor)];
    const moving = setInterval(() => shop.move(5), 20);
    await until(() => slow.pings > 3 && live.pings > 3, 20_000);
    clearInterval(moving);
    expect(checks).toEqual([[], []]);
  }, 30_000);

  it('sends one gap notice for a cursor of an unknown epoch, then all events (slow)', async () => {
    shop.move(5, { silently: true });
    const replica = await shop.start();
    await shop.isLogged();
    const client = await replica.opened(from(encodeCursor({ epoch: userId(99), seq: 3 })));
    await client.has(6);
    expect(received(client)).toEqual(['cursor-unknown', ...idsOf(shop.feed)]);
  });

  it('sends one gap notice for a cursor beyond the log, which must have been restored, then all new events (slow)', async () => {
    shop.move(5, { silently: true });
    const replica = await shop.start();
    await shop.isLogged();
    const client = await replica.opened(from(encodeCursor({ epoch: shop.epoch, seq: 8 })));
    const more = shop.move(5);
    await client.has(6);
    expect(received(client)).toEqual(['cursor-ahead', ...idsOf(more)]);
  });

  it('loses nothing when the log is restored while replicas run: reconnecting clients get one gap notice (slow)', async () => {
    // Without messages: a pending one would restore the end of the log although the store is down.
    shop.move(10, { silently: true });
    const first = await shop.start();
    await shop.isLogged();
    const replicas = [first, await shop.start()];
    const clients = await Promise.all(replicas.map((one) => one.opened(from('earliest'))));
    for (const client of clients) await client.has(10);
    shop.storeIsDown = true;
    await shop.restoreLog(6);
    // They are closed, and their cursors are beyond the log when they reconnect.
    expect((await Promise.all(clients.map((one) => one.closed))).map(({ code }) => code)).toEqual([4200, 4200]);
    const again = await Promise.all(clients.map((one, n) => replicas[n]!.opened(from(one.events.at(-1)?.cursor))));
    shop.storeIsDown = false;
    shop.move(5);
    for (const client of again) {
      await client.has(10);
      expect(received(client)).toEqual(['cursor-ahead', ...idsOf(shop.feed.slice(6))]);
    }
    const all = await replicas[0]!.opened(from('earliest'));
    await all.has(15);
    expect(received(all)).toEqual(idsOf(shop.feed));
  });

  it('loses nothing when the log was restored and has caught up before a replica noticed (slow)', async () => {
    const replica = await shop.start();
    shop.move(10);
    await shop.isLogged();
    const seen: (string | undefined)[] = [];
    let client = await replica.opened(from('earliest'));
    await client.has(10);
    await shop.restoreLog(3);
    shop.move(5);
    // A replica may or may not notice: the client either continues or has to reconnect.
    await until(async () => {
      if (client.socket.readyState === client.socket.CLOSED) {
        seen.push(...received(client));
        client = await replica.opened(from(client.events.at(-1)?.cursor));
      }
      return [...seen, ...received(client)].includes(shop.feed.at(-1)!.id);
    });
    const own = [...seen, ...received(client)];
    const gaps = own.filter((one) => one === 'cursor-ahead').length;
    expect(gaps).toBeLessThanOrEqual(1);
    if (gaps === 0) expect(own).toEqual(idsOf(shop.feed));
    else expect(idsOf(shop.feed)).toEqual([...new Set(own)].filter((one) => one !== 'cursor-ahead'));
  });

  it('sends one gap notice when the shop was restored, to live and to resuming clients (slow)', async () => {
    shop.move(5, { silently: true });
    const replica = await shop.start({ STREAM_RING_EVENTS: '10' });
    await shop.isLogged();
    const live = await replica.opened(from('earliest'));
    await live.has(5);
    const plain = await replica.opened();
    shop.beginEpoch(2);
    shop.move(5, { silently: true });
    await live.has(11);
    const expected = [...idsOf(shop.feed.slice(0, 5)), 'restored', ...idsOf(shop.feed.slice(5))];
    expect(received(live)).toEqual(expected);
    // Plain frames are events only.
    await plain.has(5);
    expect(plain.frames).toEqual(shop.feed.slice(5).map(({ body }) => body));
    // From every cursor that was sent.
    for (const n of [0, 3, 4, 5, 6, 9]) {
      const again = await replica.opened(from(live.events[n]?.cursor));
      await again.has(10 - n);
      expect(received(again)).toEqual(expected.slice(n + 1));
      again.socket.terminate();
    }
    // From the log, too.
    shop.move(30);
    await shop.isLogged();
    const late = await replica.opened(from(live.events[2]?.cursor));
    await late.has(8 + 30);
    expect(received(late).slice(0, 8)).toEqual(expected.slice(3));
  });

  it('sends no gap notice for a failover that lost nothing, to live and to resuming clients', async () => {
    shop.move(5, { silently: true });
    const replica = await shop.start({ STREAM_RING_EVENTS: '10' });
    await shop.isLogged();
    const live = await replica.opened(from('earliest'));
    await live.has(5);
    shop.failOver(2, 0);
    shop.move(5, { silently: true });
    await live.has(10);
    expect(received(live)).toEqual(idsOf(shop.feed));
    for (const n of [0, 4, 5, 9]) {
      const again = await replica.opened(from(live.events[n]?.cursor));
      await again.has(9 - n);
      expect(received(again)).toEqual(idsOf(shop.feed.slice(n + 1)));
      again.socket.terminate();
    }
    // From the log, page by page.
    shop.move(30);
    await shop.isLogged();
    let { cursor } = live.events[2] ?? {};
    const read: (string | undefined)[] = [];
    while (read.length < 37) {
      const page = JSON.parse((await replica.ask(`${updates}?${from(cursor)}&limit=10`)).body) as { cursor: string; events: { id?: string; data: { reason?: string } }[] };
      read.push(...page.events.map(({ id, data }) => id ?? data.reason));
      cursor = page.cursor;
    }
    expect(read).toEqual(idsOf(shop.feed.slice(3)));
  });

  it('sends one gap notice after a failover that lost events, to each client that has seen them (slow)', async () => {
    shop.move(3, { silently: true });
    const replica = await shop.start();
    await shop.isLogged();
    const early = await replica.opened(from('earliest'));
    await early.has(3);
    const { cursor } = early.events[2] ?? {};
    shop.move(2);
    const live = await replica.opened(from('earliest'));
    await live.has(5);
    // Both databases fail over and lack two events, and the log has caught up before the replica reads it.
    await shop.restoreLog(3);
    shop.failOver(2, 2);
    shop.move(4);
    await live.closed;
    const seen = await replica.opened(from(live.events[4]?.cursor));
    await seen.has(5);
    expect(received(seen)).toEqual(['cursor-ahead', ...idsOf(shop.feed.slice(3))]);
    const unaware = await replica.opened(from(cursor));
    await unaware.has(4);
    expect(received(unaware)).toEqual(idsOf(shop.feed.slice(3)));
    const again = await replica.opened(from(seen.events[2]?.cursor));
    await again.has(2);
    expect(received(again)).toEqual(idsOf(shop.feed.slice(5)));
  });

  it('sends one gap notice for lost numbers, between the events around them (slow)', async () => {
    shop.move(3, { silently: true });
    const replica = await shop.start({ STREAM_RING_EVENTS: '10' });
    await shop.isLogged();
    const live = await replica.opened(from('earliest'));
    await live.has(3);
    shop.beginEpoch(1, 20);
    shop.move(3, { silently: true });
    await live.has(7);
    const expected = [...idsOf(shop.feed.slice(0, 3)), 'lost', ...idsOf(shop.feed.slice(3))];
    expect(received(live)).toEqual(expected);
    for (const n of [1, 2, 3, 4]) {
      const again = await replica.opened(from(live.events[n]?.cursor));
      await again.has(6 - n);
      expect(received(again)).toEqual(expected.slice(n + 1));
    }
  });
});
