import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { notificationsDatabase } from '../../database.js';
import { TestWebhooks } from '../webhooks.spec.fixture.js';
import { QueueClock } from './queue-clock.js';
import { deleteRemains, endDeliveries, findHeldTooLong } from './sweeps.repository.js';

const dayMs = 86_400_000;

describe('sweeping', () => {
  let shop: TestWebhooks;
  let database: Database;
  let clock: QueueClock;
  beforeEach(async () => {
    shop = await TestWebhooks.start();
    await shop.create('http://127.0.0.1:9/hook');
    await shop.stopReplicas();
    const { connectionString } = shop.sql.options as { connectionString: string };
    database = await Database.connect(notificationsDatabase({ databaseUrl: connectionString, databaseCa: '', sandbox: false }, 2), createLogger('test', 'fatal'));
    clock = new QueueClock(database, createLogger('test', 'fatal'));
  });
  afterEach(async () => {
    await database.close();
    await shop.stop();
  });

  /** Inserts a delivery outside the lanes. @param values SQL of some columns */
  const insert = async (values: Readonly<Record<string, string>>) => {
    const { rows } = await shop.sql.query<{ id: number; webhookId: string }>(
      `INSERT INTO webhook_deliveries (webhook_id, event_id, of_others, in_lane, body, ${Object.keys(values).join()})
       SELECT id, gen_random_uuid(), false, false, '{}', ${Object.values(values).join()} FROM webhooks RETURNING id, webhook_id AS "webhookId"`,
    );
    return { ...rows[0]!, orderId: null, inLane: false };
  };

  it('ends no delivery that a worker has claimed, or that has ended, since it was found (slow)', async () => {
    const lease = `'${randomUUID()}'`;
    const found = [
      await insert({ due_at: 'now()' }),
      await insert({ due_at: `now() + interval '1 minute'`, lease }),
      await insert({ due_at: `now() - interval '1 minute'`, lease }),
      await insert({ state: `'delivered'`, ended_at: 'now()' }),
    ];
    await clock.transaction((tx) => endDeliveries(tx, found, 'Obsolete.'));
    const { rows } = await shop.sql.query<{ state: string }>('SELECT state FROM webhook_deliveries ORDER BY id');
    expect(rows.map(({ state }) => state)).toEqual(['failed', 'pending', 'failed', 'delivered']);
  });

  it.each<[number, string, number, number]>([
    [1, 'delivery and state are', 31, 31],
    [0, 'only the delivery is', 31, 29],
    [0, 'only the state is', 29, 31],
  ])('finds %i held deliveries of a disabled endpoint if %s older than the limit (slow)', async (count, _, deliveryDays, stateDays) => {
    await insert({ due_at: 'now()', created_at: `now() - interval '${deliveryDays} days'` });
    await shop.sql.query(`UPDATE webhooks SET state = 'disabled', state_since = now() - interval '${stateDays} days'`);
    expect(await clock.transaction((tx) => findHeldTooLong(tx, 30 * dayMs, 10))).toHaveLength(count);
    await shop.sql.query(`UPDATE webhooks SET state = 'enabled'`);
    expect(await clock.transaction((tx) => findHeldTooLong(tx, 30 * dayMs, 10))).toEqual([]);
  });

  it('deletes the row of a deleted endpoint a minute later, since transactions may still refer to it, and its deliveries at once (slow)', async () => {
    await insert({ due_at: 'now()' });
    const remains = async () => (await shop.sql.query('SELECT (SELECT count(*) FROM webhooks)::int AS webhooks, (SELECT count(*) FROM webhook_deliveries)::int AS deliveries')).rows[0] as unknown;
    const sweep = () => database.transaction((tx) => deleteRemains(tx, 10));
    await sweep();
    expect(await remains()).toEqual({ webhooks: 1, deliveries: 1 });
    await shop.sql.query(`UPDATE webhooks SET state = 'deleted', state_since = now() - interval '50 seconds'`);
    await sweep();
    expect(await remains()).toEqual({ webhooks: 1, deliveries: 0 });
    await shop.sql.query(`UPDATE webhooks SET state_since = now() - interval '61 seconds'`);
    await sweep();
    expect(await remains()).toEqual({ webhooks: 0, deliveries: 0 });
  });
});
