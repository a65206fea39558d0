import type { PageBounds } from '@plant-shop/platform/patterns/paging';
import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { type RefundStatus, refundStatuses } from '@plant-shop/contracts/store';

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
export function listRefunds(db: Reader, status: RefundStatus | undefined, { after, limit }: PageBounds): Promise<RefundState[]> {
  return db.query(listByState, [(status ? [status] : refundStatuses).map((one) => stateOf[one]), after, limit + 1]);
}

const findById: Statement = { name: 'find-refund', text: `SELECT ${columns} FROM payments WHERE refund_id = $1 AND ${isRefund}` };

/** Finds a refund. Before deciding by its state, lock its order. */
export async function findRefund(db: Reader, refundId: number): Promise<RefundState | undefined> {
  const [refund] = await db.query<RefundState>(findById, [refundId]);
  return refund;
}

const countOthersDue: Statement = {
  name: 'count-other-refunds-due',
  text: `SELECT count(*) AS count FROM payments WHERE order_id = $1 AND state = 'refund-due' AND refund_id <> $2`,
};

/** Returns the number of the order's other refunds that are due. Call it while the order is locked. */
export async function countOtherRefundsDue(tx: Transaction, orderId: number, refundId: number): Promise<number> {
  return onlyRow(await tx.query<{ count: number }>(countOthersDue, [orderId, refundId])).count;
}

const complete: Statement = {
  name: 'complete-refund',
  text: `UPDATE payments SET state = 'refunded', refunded_at = clock_timestamp(), refund_reference = $2
         WHERE refund_id = $1 AND state = 'refund-due' RETURNING ${columns}`,
};

/** Writes that the money of a due refund was returned under `reference`. Its order must be locked. */
export async function writeCompletion(tx: Transaction, refundId: number, reference: string): Promise<RefundState> {
  const [completed] = await tx.query<RefundState>(complete, [refundId, reference]);
  if (!completed) throw new Error(`refund ${refundId} is not due, and its order is locked`);
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
