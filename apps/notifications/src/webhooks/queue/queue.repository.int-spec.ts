import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger } from '@plant-shop/platform/logging';
import { Database, type Reader, type Transaction } from '@plant-shop/platform/postgres/database';
import { until } from '@plant-shop/testing/until';
import { notificationsDatabase } from '../../database.js';
import { logAndCrash } from '../../log/log.spec.fixture.js';
import { epoch, TestWebhooks } from '../webhooks.spec.fixture.js';
import { enqueueOwn } from './deliveries.repository.js';
import { lockWebhookWatermark } from './positions.repository.js';
import { QueueClock } from './queue-clock.js';
import { endDeliveries } from './sweeps.repository.js';
import { endTurns, holdLanes, noteHealth, recordOutcomes, takeTurns } from './queue.repository.js';

const limits = { inFlight: 16, perSecond: 10_000, silentAttempts: 5, pauseMs: 50, longestPauseMs: 400 };

describe('the queue of an endpoint', () => {
  let shop: TestWebhooks;
  let database: Database;
  let clock: QueueClock;
  beforeEach(async () => {
    shop = await TestWebhooks.start();
    await shop.create('http://127.0.0.1:9/hook');
    await shop.stopReplicas();
    const { connectionString } = shop.sql.options as { connectionString: string };
    database = await Database.connect(notificationsDatabase({ databaseUrl: connectionString, databaseCa: '', sandbox: false }, 10), createLogger('test', 'fatal'));
    clock = new QueueClock(database, createLogger('test', 'fatal'));
    await shop.sql.query('UPDATE webhook_queues SET turn_at = now()');
  });
  afterEach(async () => {
    await database.close();
    await shop.stop();
  });

  const inQueueTime = <T>(work: (tx: Transaction) => Promise<T>): Promise<T> => clock.transaction(work);
  const isDue = async (): Promise<boolean> =>
    (await shop.sql.query('SELECT 1 FROM webhook_queues WHERE turn_at <= now()')).rowCount === 1;

  it('gives its turn to one worker, and others skip it (slow)', async () => {
    await inQueueTime(async (tx) => {
      const [turn] = await takeTurns(tx, 1, limits);
      expect(await inQueueTime((other) => takeTurns(other, 1, limits))).toEqual([]);
      endTurns(tx, [{ turn: turn!, tokens: 1, pauseMs: 0 }]);
    });
    expect(await isDue()).toBe(false);
    expect(await inQueueTime((tx) => takeTurns(tx, 1, limits))).toEqual([]);
  });

  it('gives no turn that another worker ends between the lock and the reading', async () => {
    await inQueueTime(async (tx) => {
      const ended: Reader = {
        query: async (statement, values) => {
          const rows = await tx.query(statement, values);
          await shop.sql.query(`UPDATE webhook_queues SET turn_at = 'infinity'`);
          return rows as never;
        },
      };
      expect(await takeTurns(ended as Transaction, 1, limits)).toEqual([]);
    });
  });

  it('keeps its place among others when it gets another delivery (slow)', async () => {
    await logAndCrash(shop.sql, epoch, shop.happenSilently({ orderId: 1 }, { orderId: 2 }));
    const turnAt = async () => (await shop.sql.query<{ at: Date }>('SELECT turn_at AS at FROM webhook_queues')).rows[0]?.at;
    const enqueued = async (seq: number) => (await inQueueTime(async (tx) => enqueueOwn(tx, { after: seq - 1, upTo: seq, partSeq: null, partWebhookId: null }, 10)))();
    await shop.sql.query(`UPDATE webhook_queues SET turn_at = '2020-01-01'`);
    expect(await enqueued(1)).toEqual({ count: 1, hasMore: true });
    expect(await turnAt()).toEqual(new Date('2020-01-01T00:00:00Z'));
    await shop.sql.query(`UPDATE webhook_queues SET turn_at = '2220-01-01'`);
    expect(await enqueued(2)).toEqual({ count: 1, hasMore: false });
    expect((await turnAt())!.getTime()).toBeLessThan(Date.now() + 60_000);
  });

  it('gets each event once in steps of one delivery, which end between two endpoints of one event (slow)', async () => {
    await shop.addReplica();
    await shop.create('http://127.0.0.1:9/another');
    await shop.stopReplicas();
    await logAndCrash(shop.sql, epoch, shop.happenSilently({ orderId: 1 }, { orderId: 2 }));
    const step = (): Promise<(() => { count: number; hasMore: boolean }) | undefined> =>
      inQueueTime(async (tx) => {
        const range = await lockWebhookWatermark(tx, 10);
        return range && enqueueOwn(tx, range, 1);
      });
    const counts: number[] = [];
    for (let result = await step(); result && counts.length < 10; result = await step()) counts.push(result().count);
    expect(counts).toEqual([1, 1, 1, 1, 0]);
    const deliveries = await shop.sql.query('SELECT seq::int, count(DISTINCT webhook_id)::int AS endpoints, count(*)::int FROM webhook_deliveries GROUP BY 1 ORDER BY 1');
    expect(deliveries.rows).toEqual([1, 2].map((seq) => ({ seq, endpoints: 2, count: 2 })));
  });

  it('makes a delivery due that is enqueued while the last one of its order ends (slow)', async () => {
    await logAndCrash(shop.sql, epoch, shop.happenSilently({ orderId: 1 }, { orderId: 1 }));
    const enqueue = (seq: number) => inQueueTime(async (tx) => enqueueOwn(tx, { after: seq - 1, upTo: seq, partSeq: null, partWebhookId: null }, 10));
    await enqueue(1);
    const lease = randomUUID();
    const { rows: [first] } = await shop.sql.query<{ id: number; webhookId: string }>('UPDATE webhook_deliveries SET lease = $1 RETURNING id, webhook_id AS "webhookId"', [lease]);
    const delivery = { ...first!, orderId: 1, inLane: true };
    let enqueued: Promise<unknown> | undefined;
    await inQueueTime(async (tx) => {
      holdLanes(tx, [delivery]);
      await tx.query('SELECT 1');
      enqueued = enqueue(2);
      await until(async () => (await shop.sql.query(`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)).rowCount === 1);
      recordOutcomes(tx, [{ delivery, lease, attempt: { at: new Date().toISOString(), durationMs: 1, status: 200 }, state: 'delivered', pauseMs: 0 }]);
    });
    await enqueued;
    const { rows } = await shop.sql.query('SELECT seq::int, state, due_at IS NOT NULL AS "isDue" FROM webhook_deliveries ORDER BY seq');
    expect(rows).toEqual([{ seq: 1, state: 'delivered', isDue: false }, { seq: 2, state: 'pending', isDue: true }]);
  });

  it('records no outcome of a worker that another one has followed (slow)', async () => {
    const [former, present] = [randomUUID(), randomUUID()];
    const { rows } = await shop.sql.query<{ id: number; webhookId: string }>(
      `INSERT INTO webhook_deliveries (webhook_id, event_id, of_others, in_lane, body, due_at, lease)
       SELECT id, gen_random_uuid(), false, false, '{}', now() + interval '1 hour', $1 FROM webhooks RETURNING id, webhook_id AS "webhookId"`,
      [present],
    );
    const delivery = { ...rows[0]!, orderId: null, inLane: false };
    const attempt = { at: new Date().toISOString(), durationMs: 1, status: 200 };
    const recorded = async (lease: string): Promise<number[]> => [
      ...(await inQueueTime(async (tx) => recordOutcomes(tx, [{ delivery, lease, attempt, state: 'delivered', pauseMs: 0 }])))(),
    ];
    const stored = async () => (await shop.sql.query<{ state: string; attempts: number; lease: string | null }>('SELECT state, jsonb_array_length(attempts) AS attempts, lease FROM webhook_deliveries')).rows;
    expect(await recorded(former)).toEqual([]);
    expect(await stored()).toEqual([{ state: 'pending', attempts: 0, lease: present }]);
    expect(await recorded(present)).toEqual([delivery.id]);
    expect(await stored()).toEqual([{ state: 'delivered', attempts: 1, lease: null }]);
  });

  it('does not block making a delivery during a turn, and does not overlook that delivery (slow)', async () => {
    const enqueuer = await shop.sql.connect();
    await inQueueTime(async (tx) => {
      const [turn] = await takeTurns(tx, 1, limits);
      await enqueuer.query('BEGIN');
      await enqueuer.query(
        `INSERT INTO webhook_deliveries (webhook_id, event_id, of_others, in_lane, body, due_at)
         SELECT id, gen_random_uuid(), false, false, '{}', now() FROM webhooks`,
      );
      await enqueuer.query('UPDATE webhook_queues SET turn_at = least(turn_at, now())');
      endTurns(tx, [{ turn: turn!, tokens: 1, pauseMs: 0 }]);
      const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      await until(async () => (await shop.sql.query(waiting)).rowCount === 1);
      await enqueuer.query('COMMIT');
    });
    enqueuer.release();
    expect(await isDue()).toBe(true);
  });

  it.each([
    ['waits for its retry', null],
    ['is being sent', 'lease'],
  ])('does not send the first delivery of an order again or earlier if it %s while one behind it ends (slow)', async (_what, lease) => {
    await shop.sql.query(`
      WITH lane AS (INSERT INTO webhook_lanes (webhook_id, order_id) SELECT id, 1 FROM webhooks)
      INSERT INTO webhook_deliveries (webhook_id, event_id, of_others, in_lane, order_id, body, due_at, lease)
      SELECT w.id, gen_random_uuid(), false, true, 1, '{}', d.due_at, d.lease FROM webhooks w, (VALUES
        (1, now() + interval '1 hour', ${lease === null ? 'NULL::uuid' : 'gen_random_uuid()'}), (2, NULL, NULL), (3, NULL, NULL)) AS d (n, due_at, lease) ORDER BY d.n`);
    const rows = async () => (await shop.sql.query<{ id: number; dueInMinutes: number | null }>(
      `SELECT id, webhook_id AS "webhookId", order_id AS "orderId", in_lane AS "inLane",
         round(extract(epoch FROM due_at - now()) / 60)::integer AS "dueInMinutes" FROM webhook_deliveries ORDER BY id`)).rows;
    const [, second] = await rows();
    await inQueueTime((tx) => endDeliveries(tx, [second as never], 'The owner may no longer see this order.'));
    expect((await rows()).map(({ dueInMinutes }) => dueInMinutes)).toEqual([60, null, null]);
  });

  it.each([
    [0, 60],
    [30, 60],
    [3_600, 3_600],
  ])('pauses a slow receiver that asks for %i s for %i s: as long as it asks for, and not shorter than others (slow)', async (askedSeconds, seconds) => {
    const { rows } = await shop.sql.query<{ webhookId: string }>('SELECT webhook_id AS "webhookId" FROM webhook_queues');
    const slow = { delivered: false, answered: true, prompt: false, silentAttempts: limits.silentAttempts, pauseMs: askedSeconds * 1_000 };
    const ofProduction = { ...limits, pauseMs: 60_000, longestPauseMs: 300_000 };
    await inQueueTime(async (tx) => noteHealth(tx, rows.map((row) => ({ ...row, ...slow })), ofProduction));
    const paused = 'SELECT extract(epoch FROM paused_until - turn_at)::float8 AS seconds FROM webhook_queues';
    expect((await shop.sql.query<{ seconds: number }>(paused)).rows[0]!.seconds).toBeCloseTo(seconds, -1);
  });
});
