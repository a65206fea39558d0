import { Injectable } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { Database, type Statement, type Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import type { OrderFilter, StateCount } from './order-lists.js';

// Exact numbers of orders by state: overall, of a plant, and of an owner. Steps are counted after their transactions, in the order of
// their events' numbers, so that placing an order does not wait for it. Reading adds the few that are not counted yet.

/** Whether the numbers of a filter are kept. */
export const isCounted = ({ ownerId, plantId, placedFrom, placedBefore, externalId, metadata, search }: OrderFilter): boolean =>
  (ownerId === undefined || plantId === undefined) && [placedFrom, placedBefore, externalId, metadata, search].every((one) => one === undefined);

const stepColumns = 'order_id, order_version, plant_id, feed_seq, counted, owner_id, new_status, shipped, refund';
const withoutEvent = `SELECT ${stepColumns} FROM order_transitions WHERE event_id IS NULL AND counted IS NULL`;

/** SQL: of a step's order. An earlier release wrote steps without it. With LIMIT, old orders are looked up only for one that is not among the others. */
const plantId = 'coalesce(step.plant_id, (SELECT plant_id FROM orders WHERE orders.id = step.order_id LIMIT 1))';
/** SQL: the state of an order from a step on. */
const state = (step: string): string =>
  `${step}.owner_id, ${step}.new_status AS status, coalesce(${step}.shipped, false) AS shipped, coalesce(${step}.refund, 'none') AS refund`;

/**
 * SQL: what the steps of orders among `step` add to the numbers of states, and subtract: an order's state before a step is the one after the step
 * before. One look-up for each of those: estimating many steps, Postgres would read all orders. `IS NOT TRUE`: with `IS NULL` it estimates a single
 * step, and sorts them by texts instead of hashing, which costs twice as much.
 */
const changes = `
  SELECT ${plantId} AS plant_id, ${state('step')}, 1 AS by FROM step WHERE counted IS NOT TRUE AND order_id IS NOT NULL
  UNION ALL
  SELECT ${plantId}, before.*, -1 FROM step CROSS JOIN LATERAL (
    SELECT ${state('t')} FROM order_transitions AS t WHERE t.order_id = step.order_id AND t.order_version = step.order_version - 1 LIMIT 1
  ) AS before WHERE step.counted IS NOT TRUE AND step.order_version > 1`;

const read: Statement = {
  name: 'read-order-counts',
  text: `
    WITH step AS MATERIALIZED (
      SELECT ${stepColumns} FROM order_transitions WHERE feed_seq > (SELECT counted FROM order_counts_head)
      UNION ALL SELECT ${stepColumns} FROM order_transitions WHERE feed_seq IS NULL AND event_id IS NOT NULL
      UNION ALL ${withoutEvent}
    )
    SELECT status, shipped, nullif(refund, 'none') AS refund, sum(orders)::bigint AS orders FROM (
      SELECT status, shipped, refund, orders FROM order_counts WHERE scope = coalesce($1::bigint::text, $2::uuid::text, 'all')
      UNION ALL
      SELECT status, shipped, refund, by FROM (${changes}) AS change
      WHERE ($1::bigint IS NULL OR plant_id = $1) AND ($2::uuid IS NULL OR owner_id = $2)
    ) AS kept GROUP BY 1, 2, 3 HAVING sum(orders) <> 0`,
};

/** Returns the numbers of orders by state, of a filter that `isCounted`. */
export async function readCounts(database: Database, { ownerId, plantId, status, shipped, refund }: OrderFilter): Promise<StateCount[]> {
  // Without the options Postgres might read all steps to find the last ones.
  const counts = await database.transaction((tx) => tx.query<StateCount>(read, [plantId ?? null, ownerId ?? null]), { useGenericPlans: true });
  return counts.filter(
    (one) => (status?.includes(one.status) ?? true) && (shipped ?? one.shipped) === one.shipped && (refund ?? one.refund) === one.refund,
  );
}

/** Locks only if there is something to count, since a row lock is a write. `next`: the first number that is not counted; null: none. */
const lock: Statement = {
  name: 'lock-order-counts',
  text: `SELECT head.counted, first.next FROM order_counts_head AS head CROSS JOIN LATERAL (
           SELECT (SELECT feed_seq FROM order_transitions WHERE feed_seq > head.counted ORDER BY feed_seq LIMIT 1) AS next
         ) AS first
         WHERE first.next IS NOT NULL OR (SELECT order_id FROM order_transitions WHERE event_id IS NULL AND counted IS NULL LIMIT 1) IS NOT NULL
         FOR UPDATE OF head SKIP LOCKED`,
};

/** The most steps that one transaction counts. */
const most = 20_000;

const count: Statement = {
  name: 'count-orders',
  text: `
    WITH step AS MATERIALIZED (
      (SELECT ${stepColumns} FROM order_transitions WHERE feed_seq BETWEEN $2::bigint AND $2::bigint + ${most - 1})
      UNION ALL
      (${withoutEvent} LIMIT ${most})
    ), marked AS (
      UPDATE ONLY order_transitions AS t SET counted = true FROM step
      WHERE step.feed_seq IS NULL AND t.order_id = step.order_id AND t.order_version = step.order_version
    ), added AS (
      INSERT INTO order_counts AS kept (scope, status, shipped, refund, orders)
      SELECT coalesce(plant_id::text, owner_id::text, 'all'), status, shipped, refund, sum(by) FROM (${changes}) AS change
      GROUP BY GROUPING SETS ((), (plant_id), (owner_id)), status, shipped, refund HAVING sum(by) <> 0
      ON CONFLICT (scope, status, shipped, refund) DO UPDATE SET orders = kept.orders + excluded.orders
    )
    UPDATE order_counts_head SET counted = (SELECT coalesce(max(feed_seq), $1) FROM step) RETURNING (SELECT count(*) FROM step) AS steps`,
};

/**
 * Counts steps that are not counted yet, one replica at a time. Locking and reading are two statements: a single one would read the
 * snapshot taken before the lock. Transactions that number events commit in the order of the numbers, so none below the highest is missing.
 * @returns the number of steps
 */
async function countSome(tx: Transaction): Promise<number> {
  const [head] = await tx.query<{ counted: number; next: number | null }>(lock);
  return head ? onlyRow(await tx.query<{ steps: number }>(count, [head.counted, head.next])).steps : 0;
}

/** Keeps the numbers of orders. */
@Injectable()
export class OrderCounter extends BackgroundLoop {
  constructor(database: Database, @InjectLogger() logger: Logger) {
    super({ name: 'count orders', intervalMs: 1_000 }, async () => (await database.transaction(countSome, { useGenericPlans: true })) >= most, logger);
  }
}
