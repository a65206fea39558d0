import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { store } from '@plant-shop/contracts/store';
import { type FeedPage, feedSubject } from '@plant-shop/contracts/store.feed';
import { createLogger } from '@plant-shop/platform/logging';
import { Nats } from '@plant-shop/platform/nats';
import type { Service } from '@plant-shop/platform/service/service';
import { startNats, type TestNats } from '@plant-shop/testing/nats';
import { createDatabase, type TestDatabase } from '@plant-shop/testing/postgres';
import { fake, startFake, startService } from '@plant-shop/testing/service';
import { until } from '@plant-shop/testing/until';
import pg from 'pg';
import { migrationsFolder } from '../database.js';
import { startNotifications } from '../start.js';

type Event = FeedPage['events'][number];

const epoch = '00000000-0000-4000-8000-0000000000e0';
const eventNo = (seq: number): Event => ({
  seq,
  id: `00000000-0000-7000-8000-${String(seq).padStart(12, '0')}`,
  subject: '00000000-0000-4000-8000-000000000001',
  body: `{"event":"order.status_changed","data":{"orderId":${seq},"plantId":7,"newStatus":"approved"}}`,
});

describe('the event log', () => {
  let nats: TestNats;
  let database: TestDatabase;
  let sql: pg.Pool;
  let storeNats: Nats;
  let fakeStore: { stop: () => Promise<void> };
  let services: Service[];
  /** What the store has. */
  let feed: Event[];

  beforeEach(async () => {
    feed = [];
    services = [];
    [nats, database] = await Promise.all([startNats(), createDatabase(migrationsFolder)]);
    sql = new pg.Pool({ connectionString: database.url, max: 2 });
    sql.on('error', () => undefined);
    storeNats = await Nats.connect({ url: nats.url, name: 'store' }, createLogger('test', 'fatal'));
    fakeStore = await startStore();
  });
  afterEach(async () => {
    await Promise.all(services.map((service) => service.stop()));
    await fakeStore.stop();
    await storeNats.close(1_000);
    await sql.end();
    await database.drop();
    await nats.stop();
  });

  const startStore = () =>
    startFake(nats.url, 'store', [
      fake(store.feedRead, ({ after, limit }) => ({
        epoch,
        head: feed.length,
        matches: true,
        next: after + 1,
        events: feed.slice(after, after + limit),
      })),
    ]);
  const start = async (): Promise<void> => {
    const config = { databaseUrl: database.url, streamHost: '127.0.0.1', streamPort: 0, eventLogRetentionDays: 30, publicUrl: 'https://shop.test' };
    services.push(await startService('notifications', nats.url, (service) => startNotifications(service, config)));
  };
  const happens = (count: number): Event[] => {
    const events = Array.from({ length: count }, (_, n) => eventNo(feed.length + n + 1));
    feed.push(...events);
    return events;
  };
  const nudge = (events: readonly Event[]): void => {
    storeNats.connection.publish(feedSubject, JSON.stringify({ epoch, head: feed.length, events }));
  };
  const logged = async (): Promise<Event[]> =>
    (
      await sql.query<Event>(
        `SELECT seq, event_id AS id, subject, body FROM event_log, feed_watermark WHERE seq <= watermark ORDER BY seq`,
      )
    ).rows;
  const isWhole = () => until(async () => (await logged()).length === feed.length);

  it('equals the feed: what happened before the start, with nudges, without them, and with two replicas', async () => {
    happens(2_500);
    await Promise.all([start(), start()]);
    await isWhole();
    for (let n = 0; n < 30; n++) {
      const events = happens(3);
      if (n % 3 > 0) nudge(events);
      if (n % 3 > 1) nudge(events);
    }
    await isWhole();
    expect(await logged()).toEqual(feed);
  });

  it('is whole again after NATS came back empty', async () => {
    await start();
    happens(10);
    await isWhole();
    await nats.stop();
    happens(500);
    await nats.restart();
    await isWhole();
    expect(await logged()).toEqual(feed);
  });

  it('knows by itself what clients filter by', async () => {
    happens(2);
    await start();
    await isWhole();
    const { rows } = await sql.query('SELECT order_id, plant_id, new_status FROM event_log ORDER BY seq');
    expect(rows).toEqual([
      { order_id: 1, plant_id: 7, new_status: 'approved' },
      { order_id: 2, plant_id: 7, new_status: 'approved' },
    ]);
  });

  it('is not stopped by a nudge that cannot be read', async () => {
    await start();
    storeNats.connection.publish(feedSubject, 'no JSON');
    nudge(happens(3));
    await isWhole();
  });
});
