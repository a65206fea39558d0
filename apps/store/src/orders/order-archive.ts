import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { Database, type Statement, type Transaction } from '@plant-shop/platform/postgres/database';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { STORE_OPTIONS, type StoreOptions } from '../config.js';
import { lockAgainstErasing } from '../customers/customers.js';

// Orders that no longer change move to `old_orders` and their steps to `old_order_steps`, so that the tables that are written stay small. Both
// inherit from the table that they were in: `FROM orders` reads old orders, too; `FROM ONLY orders` is for those that may change. Whoever
// changes an old order takes it back first (`takeBack`).

/** The most orders, and the most steps without an order, that one transaction moves. */
const most = 100;
/** Leaves the disk to others: with it, about 500 orders a second move. */
const pauseMs = 100;
/** Time between two passes over what is old enough. */
const intervalMs = 60_000;
/** Bounds how long somebody waits for an order that is being moved. A wait for a lock ends after a fifth of it. */
const limitMs = 2_500;

/** How far a pass has come: orders by their placing, steps by their number in the feed. */
interface Position {
  readonly placedAt: Date | '-infinity';
  readonly id: number;
  readonly seq: number;
}

const start: Position = { placedAt: '-infinity', id: 0, seq: 0 };

// Read from each status' part of an index. Some may not be moved: they are passed by, and looked at again in the next pass.
const findFinal: Statement = {
  name: 'find-old-orders',
  text: `SELECT listed.* FROM unnest('{delivered,cancelled}'::text[]) AS final (status) CROSS JOIN LATERAL (
           SELECT id, placed_at AS "placedAt" FROM ONLY orders
           WHERE orders.status = final.status AND (placed_at, id) > ($1::timestamptz, $2::bigint) AND placed_at < now() - $3 * interval '1 day'
           ORDER BY placed_at, id LIMIT ${most}
         ) AS listed ORDER BY "placedAt", id LIMIT ${most}`,
};

/**
 * An order moves with all its steps: once they are counted and the feed has dropped their bodies. NOT EXISTS might become a join that
 * reads all steps, and `status IN` a search of the index by status.
 */
const lockOld: Statement = {
  name: 'lock-old-orders',
  text: `SELECT id FROM ONLY orders AS old WHERE id = ANY($1) AND status NOT IN ('placed', 'approved') AND due_at IS NULL AND refund IS DISTINCT FROM 'due'
           AND coalesce(updated_at, placed_at) < now() - $2 * interval '1 day'
           AND (
             SELECT true FROM ONLY order_transitions AS step CROSS JOIN order_counts_head AS head
             WHERE step.order_id = old.id AND (step.body IS NOT NULL OR (step.counted OR step.feed_seq <= head.counted) IS NOT TRUE) LIMIT 1
           ) IS NULL ORDER BY id FOR UPDATE OF old SKIP LOCKED`,
};

/** Events of stock have no order. Every step is read, but only until one is too new. */
const findSteps: Statement = {
  name: 'find-old-steps',
  text: `SELECT feed_seq AS seq, order_id IS NULL AS "isAlone", at < now() - $2 * interval '1 day' AS "isOld" FROM ONLY order_transitions
         WHERE feed_seq > $1 AND feed_seq < (SELECT oldest FROM feed_kept) ORDER BY feed_seq LIMIT ${most}`,
};

const move = (from: string, to: string, column: string): Statement => ({
  name: `move-${from}-by-${column}`,
  text: `WITH moved AS (DELETE FROM ONLY ${from} WHERE ${column} = ANY($1) RETURNING *) INSERT INTO ${to} SELECT * FROM moved`,
});
const moveOrders = move('orders', 'old_orders', 'id');
const moveSteps = move('order_transitions', 'old_order_steps', 'order_id');
const moveEvents = move('order_transitions', 'old_order_steps', 'feed_seq');
const moveBack = move('old_orders', 'orders', 'id');

/** Makes old orders ones that may change. Waits for whoever moves them; lock them afterwards. Their steps stay: a timeline reads both tables. */
export async function takeBack(tx: Transaction, orderIds: readonly number[]): Promise<void> {
  await tx.execute(moveBack, [orderIds]);
}

/**
 * Moves the next orders that are old enough.
 * @param days the age of their last step
 * @returns the position to continue at; undefined: the pass is over, or another replica moves some
 */
async function moveSome(tx: Transaction, days: number, after: Position): Promise<Position | undefined> {
  if (!(await lockAgainstErasing(tx))) return undefined;
  const found = await tx.query<{ id: number; placedAt: Date }>(findFinal, [after.placedAt, after.id, days]);
  // A separate statement locks, and another moves: each sees what was committed before it.
  const locked = found.length > 0 ? await tx.query<{ id: number }>(lockOld, [found.map(({ id }) => id), days]) : [];
  if (locked.length > 0) for (const one of [moveOrders, moveSteps]) tx.send(one, [locked.map(({ id }) => id)]);
  const last = found.at(-1);
  if (last && found.length === most) return { ...after, ...last };
  const steps = await tx.query<{ seq: number; isAlone: boolean; isOld: boolean }>(findSteps, [after.seq, days]);
  const old = steps.filter(({ isOld }) => isOld);
  const alone = old.filter(({ isAlone }) => isAlone);
  if (alone.length > 0) tx.send(moveEvents, [alone.map(({ seq }) => seq)]);
  const seq = old.at(-1)?.seq;
  return seq !== undefined && old.length === most ? { ...after, ...last, seq } : undefined;
}

/** Moves orders that have not changed for `archiveAfterDays`, the oldest first. */
@Injectable()
export class OrderArchive extends BackgroundLoop {
  constructor(database: Database, @Inject(STORE_OPTIONS) { archiveAfterDays }: Pick<StoreOptions, 'archiveAfterDays'>, @InjectLogger() logger: Logger) {
    let position = start;
    super(
      { name: 'move old orders', intervalMs },
      async () => {
        const next = await database.transaction((tx) => moveSome(tx, archiveAfterDays, position), { useGenericPlans: true, limitMs });
        position = next ?? start;
        return next !== undefined && pauseMs;
      },
      logger,
    );
  }
}
