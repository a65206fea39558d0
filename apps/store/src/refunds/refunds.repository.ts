import type { PageBounds } from '@plant-shop/platform/paging';
import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { ifSampled, tracing } from '@plant-shop/platform/telemetry/tracing';
import { type RefundStatus, refundStatuses } from '@plant-shop/contracts/store';
import type { OrderState } from '../orders/order.js';

type Reader = Pick<Transaction, 'query'>;

/** A payment that is due for refund, or was refunded. */
export interface RefundState {
  readonly id: number;
  readonly orderId: number;
  readonly paymentReference: string;
  readonly dueAt: Date;
  /** Null: the refund is due. */
  readonly completedAt: Date | null;
  /** The reference under which the money was returned; null: the refund is due. */
  readonly reference: string | null;
}

const stateOf: Readonly<Record<RefundStatus, string>> = { due: 'refund-due', completed: 'refunded' };
const isRefund = `state IN ('refund-due', 'refunded')`;
const columns = `refund_id AS id, order_id AS "orderId", reference AS "paymentReference", at AS "dueAt", refunded_at AS "completedAt",
  refund_reference AS reference`;

const listByState: Statement = {
  name: 'list-refunds',
  text: `SELECT refund.* FROM unnest($1::text[]) AS wanted (state) CROSS JOIN LATERAL (
           SELECT ${columns} FROM payments WHERE payments.state = wanted.state AND ${isRefund} AND refund_id < $2 ORDER BY refund_id DESC LIMIT $3
         ) AS refund ORDER BY id DESC LIMIT $3`,
};

/** Lists refunds newest first, one more than the page holds. */
export function listRefunds(db: Reader, status: RefundStatus | undefined, { before, limit }: PageBounds): Promise<RefundState[]> {
  return db.query(listByState, [(status ? [status] : refundStatuses).map((one) => stateOf[one]), before, limit + 1]);
}

const findById: Statement = { name: 'find-refund', text: `SELECT ${columns} FROM payments WHERE refund_id = $1 AND ${isRefund}` };

/** Finds a refund. Before deciding by its state, lock its order. */
export async function findRefund(db: Reader, refundId: number): Promise<RefundState | undefined> {
  const [refund] = await db.query<RefundState>(findById, [refundId]);
  return refund;
}

/** Completes a refund: writes the refund, its order and the timeline in one statement. */
export async function writeCompletion(tx: Transaction, refund: RefundState, order: OrderState, actor: string): Promise<RefundState> {
  const [completed] = await tx.query<RefundState>(
    `WITH timeline AS (
       INSERT INTO order_transitions (order_id, order_version, new_status, at, actor, reason, owner_id, refund_id, traceparent)
       VALUES ($2, $3, $4, clock_timestamp(), $5, 'refunded', $6, $1, $8)
     ), others AS (
       SELECT count(*) AS due FROM payments WHERE order_id = $2 AND state = 'refund-due' AND refund_id <> $1
     ), owner AS (
       UPDATE orders SET version = $3, refund = CASE WHEN others.due > 0 THEN 'due' ELSE 'completed' END FROM others WHERE id = $2
     )
     UPDATE payments SET state = 'refunded', refunded_at = clock_timestamp(), refund_reference = $7
     WHERE refund_id = $1 AND state = 'refund-due' RETURNING ${columns}`,
    [refund.id, order.id, order.version + 1, order.status, actor, order.ownerId, refund.reference, ifSampled(tracing?.active?.traceparent)],
  );
  if (!completed) throw new Error(`refund ${refund.id} is not due, and its order is locked`);
  return completed;
}

const countDue: Statement = {
  name: 'count-refunds-due',
  text: `SELECT count(*) AS count, coalesce(extract(epoch FROM now() - min(at)), 0)::float8 AS "oldestSeconds" FROM payments WHERE state = 'refund-due'`,
};

/** Returns the number of due refunds and the age of the oldest in seconds (0: none is due). */
export async function countRefundsDue(db: Reader): Promise<{ readonly count: number; readonly oldestSeconds: number }> {
  const [row] = await db.query<{ count: number; oldestSeconds: number }>(countDue);
  return row ?? { count: 0, oldestSeconds: 0 };
}
