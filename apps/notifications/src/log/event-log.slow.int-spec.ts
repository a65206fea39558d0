import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { broadcasts } from '@plant-shop/contracts/broker';
import { store } from '@plant-shop/contracts/store';
import type { FeedPage } from '@plant-shop/contracts/store.feed';
import { createLogger } from '@plant-shop/platform/logging';
import { Nats } from '@plant-shop/platform/nats';
import type { Service } from '@plant-shop/platform/service/service';
import { createDatabase } from '@plant-shop/service-testing/postgres';
import { fake, startFake, startService } from '@plant-shop/service-testing/service';
import { startNats, type TestNats } from '@plant-shop/testing/nats';
import type { TestDatabase } from '@plant-shop/testing/postgres';
import { until } from '@plant-shop/testing/until';
import pg from 'pg';
import { migrationsFolder } from '../database.js';
import { testSettings } from '../notifications.spec.fixture.js';
import { startNotifications } from '../notifications.module.js';

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
  /** The store's events. */
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
    await database.disconnect();
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
    const config = testSettings(database.serviceUrl);
    services.push(await startService('notifications', nats.url, (service) => startNotifications(service, config)));
  };
  const happens = (count: number): Event[] => {
    const events = Array.from({ length: count }, (_, n) => eventNo(feed.length + n + 1));
    feed.push(...events);
    return events;
  };
  const publish = (events: readonly Event[]): void => {
    const before = events[0]!.seq - 1;
    const after = { seq: before, ...(before > 0 && { id: feed[before - 1]!.id }) };
    storeNats.connection.publish(broadcasts.feed.subject, JSON.stringify({ epoch, head: feed.length, after, events }));
  };
  const logged = async (): Promise<Event[]> =>
    (
      await sql.query<Event>(
        `SELECT seq, event_id AS id, subject, body FROM event_log, feed_watermark WHERE seq <= watermark ORDER BY seq`,
      )
    ).rows;
  /** Waits until the whole feed is logged; checks on the way that no event below the watermark is missing. */
  const isWhole = () =>
    until(async () => {
      const { rows } = await sql.query<{ watermark: number; logged: number }>(
        'SELECT watermark, (SELECT count(*) FROM event_log WHERE seq <= watermark) AS logged FROM feed_watermark',
      );
      expect(rows[0]!.logged).toBe(rows[0]!.watermark);
      return rows[0]!.logged === feed.length;
    });

  it('equals the feed: events before the start, with messages and without, and with two replicas', async () => {
    happens(2_500);
    await Promise.all([start(), start()]);
    await isWhole();
    for (let n = 0; n < 30; n++) {
      const events = happens(3);
      if (n % 3 > 0) publish(events);
      if (n % 3 > 1) publish(events);
    }
    await isWhole();
    expect(await logged()).toEqual(feed);
  });

  it('is complete when messages are lost, repeated and reordered', async () => {
    await Promise.all([start(), start()]);
    for (let round = 0; round < 20; round++) {
      const messages = Array.from({ length: 6 }, () => happens(4)).filter((_, n) => (n + round) % 4 > 0);
      for (const events of [...messages.slice(2), ...messages.reverse(), ...messages]) publish(events);
    }
    await isWhole();
    expect(await logged()).toEqual(feed);
  });

  it('is complete again after notifications missed 10,000 events', async () => {
    await start();
    publish(happens(10));
    await isWhole();
    await services.pop()!.stop();
    happens(10_000);
    await start();
    await isWhole();
    expect(await logged()).toEqual(feed);
  }, 20_000);

  it('has no uncommitted event after a cut connection, and all events later', async () => {
    await start();
    const blocker = await sql.connect();
    await blocker.query('BEGIN');
    await blocker.query(`INSERT INTO event_log (seq, event_id, subject, body, repeats, event_type) VALUES (8, gen_random_uuid(), gen_random_uuid(), '{}', false, 'none')`);
    publish(happens(10));
    // It has written seven rows and waits for the eighth.
    const waiting = `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'notifications'
      AND wait_event_type = 'Lock' AND query LIKE '%INSERT INTO event_log%'`;
    // On another connection than the blocker's: a transaction sees one snapshot of the activity.
    await until(async () => (await sql.query(waiting)).rows.length > 0);
    await sql.query(`SELECT pg_terminate_backend(pid) FROM (${waiting}) AS w`);
    expect(await logged()).toEqual([]);
    await blocker.query('ROLLBACK');
    blocker.release();
    await isWhole();
    expect(await logged()).toEqual(feed);
  });

  it('is complete again after NATS has lost its data', async () => {
    await start();
    happens(10);
    await isWhole();
    await nats.stop();
    happens(500);
    await nats.restart();
    await isWhole();
    expect(await logged()).toEqual(feed);
  });

  it('has columns for what clients filter by', async () => {
    happens(2);
    await start();
    await isWhole();
    const { rows } = await sql.query('SELECT order_id, plant_id, new_status FROM event_log ORDER BY seq');
    expect(rows).toEqual([
      { order_id: 1, plant_id: 7, new_status: 'approved' },
      { order_id: 2, plant_id: 7, new_status: 'approved' },
    ]);
  });

  it('continues after a malformed message', async () => {
    await start();
    storeNats.connection.publish(broadcasts.feed.subject, 'no JSON');
    publish(happens(3));
    await isWhole();
  });
});
