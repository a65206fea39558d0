import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { Receiver } from '@plant-shop/testing/receiver';
import { until } from '@plant-shop/testing/until';
import { notificationsDatabase } from '../../database.js';
import { TestWebhooks } from '../webhooks.spec.fixture.js';
import { type Backlog, readBacklog } from './delivery-metrics.js';
import { QueueClock } from './queue-clock.js';

const limits = { inFlight: 16, perSecond: 10_000, silentAttempts: 5, pauseMs: 50, longestPauseMs: 400 };

describe('deliveries that wait for a replica', () => {
  let shop: TestWebhooks;
  let database: Database;
  let webhookId: string;
  beforeAll(async () => {
    shop = await TestWebhooks.start();
    webhookId = (await shop.create('http://127.0.0.1:9/hook')).id;
    await shop.stopReplicas();
    const { connectionString } = shop.sql.options as { connectionString: string };
    database = await Database.connect(notificationsDatabase({ databaseUrl: connectionString, databaseCa: '', sandbox: false }, 4), createLogger('test', 'fatal'));
  });
  afterEach(() => shop.sql.query('DELETE FROM webhook_deliveries'));
  afterAll(async () => {
    await database.close();
    await shop.stop();
  });

  const add = (count: number, dueAt: string | null, lease = 'NULL'): Promise<unknown> =>
    shop.sql.query(
      `INSERT INTO webhook_deliveries (webhook_id, event_id, of_others, in_lane, body, due_at, lease)
       SELECT $1, gen_random_uuid(), false, false, '{}', now() + $3::interval, ${lease} FROM generate_series(1, $2)`,
      [webhookId, count, dueAt],
    );
  const backlog = (): Promise<Backlog> => new QueueClock(database, createLogger('test', 'fatal')).transaction((tx) => readBacklog(tx, limits));
  const waiting = async (): Promise<number> => (await backlog()).waiting;

  it('are those that are due, without later retries and deliveries behind a predecessor', async () => {
    await add(5, '-1 second');
    await add(100, '1 hour');
    await add(100, null);
    expect(await backlog()).toMatchObject({ waiting: 5, pending: 205 });
  });

  it('are limited by their endpoint: more replicas would not send the rest', async () => {
    await add(1_000, '-1 second');
    expect(await waiting()).toBe(16);
    await add(10, '5 seconds', 'gen_random_uuid()');
    expect(await waiting()).toBe(6);
    await shop.sql.query('UPDATE webhook_queues SET silent_attempts = 5');
    expect(await waiting()).toBe(0);
    await shop.sql.query('UPDATE webhook_queues SET silent_attempts = 0');
  });

  it('include those of a lost replica after their leases', async () => {
    await add(3, '-1 second', 'gen_random_uuid()');
    expect(await waiting()).toBe(3);
  });

  it('exclude those of a paused or disabled endpoint', async () => {
    await add(5, '-1 second');
    await shop.sql.query(`UPDATE webhook_queues SET paused_until = now() + interval '1 minute'`);
    expect(await waiting()).toBe(0);
    await shop.sql.query(`UPDATE webhook_queues SET paused_until = '-infinity'`);
    await shop.sql.query(`UPDATE webhooks SET state = 'disabled'`);
    expect(await waiting()).toBe(0);
    await shop.sql.query(`UPDATE webhooks SET state = 'enabled'`);
    expect(await waiting()).toBe(5);
  });
});

it('a replica has metrics of its concurrent attempts, their limit, and waiting deliveries (slow)', async () => {
  const shop = await TestWebhooks.start({ replicas: 0 });
  const receiver = await Receiver.start();
  try {
    receiver.answer = () => undefined;
    const replica = await shop.addReplica();
    await shop.create(receiver.url);
    shop.happen(...Array.from({ length: 5 }, (_, n) => ({ orderId: n + 1 })));
    const metric = async (name: string): Promise<number | undefined> => (await replica.metrics.getSingleMetric(name)?.get())?.values[0]?.value;
    // A new owner starts with two slots.
    await until(async () => (await metric('webhook_attempts_in_flight')) === 2, 15_000);
    expect(await metric('webhook_attempts_limit')).toBe(512);
    expect(await metric('webhook_deliveries_waiting')).toBe(0);
  } finally {
    await shop.stop();
    await receiver.stop();
  }
}, 30_000);
