import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { RowsParameter } from '@plant-shop/platform/postgres/rows';
import type { PaymentState } from './payment.js';

/** The key of a payment: a provider's reference is unique within its order. */
export interface PaymentId {
  readonly orderId: number;
  readonly reference: string;
}

export interface StoredPayment extends PaymentId {
  readonly state: PaymentState;
}

const findByReferences: Statement = {
  name: 'find-payments',
  text: `SELECT p.order_id AS "orderId", p.reference, p.state FROM unnest($1::bigint[], $2::text[]) AS t (order_id, reference)
         JOIN payments p ON p.order_id = t.order_id AND p.reference = t.reference`,
};

/** Finds the payments that were reported before. Call it while their orders are locked. */
export function findPayments(tx: Transaction, payments: readonly PaymentId[]): Promise<StoredPayment[]> {
  return tx.query(findByReferences, [payments.map((one) => one.orderId), payments.map((one) => one.reference)]);
}

const saved = new RowsParameter<StoredPayment>(
  ['order_id', 'bigint', ({ orderId }) => orderId],
  ['reference', 'text', ({ reference }) => reference],
  ['state', 'text', ({ state }) => state],
);

const write: Statement = {
  name: 'save-payments',
  text: `INSERT INTO payments (${saved.names}, refund_id)
         SELECT ${saved.names}, CASE WHEN state = 'refund-due' THEN nextval('refund_ids') END FROM ${saved.from()}
         ON CONFLICT (order_id, reference)
         DO UPDATE SET state = excluded.state, at = now(), refund_id = coalesce(payments.refund_id, excluded.refund_id)`,
};

/** Inserts or updates payments. Pass each payment at most once: Postgres refuses to update a row twice in one statement. */
export function savePayments(tx: Transaction, payments: readonly StoredPayment[]): void {
  if (payments.length === 0) return;
  tx.send(write, saved.values(payments));
}

const findIds: Statement = {
  name: 'find-refund-ids',
  text: `SELECT p.refund_id AS id FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS t (order_id, reference, n)
         JOIN payments p ON p.order_id = t.order_id AND p.reference = t.reference ORDER BY n`,
};

/** Returns the payments' refund ids, in the order of `payments`. Call it after `savePayments`. */
export async function findRefundIds(
  tx: Transaction,
  payments: readonly PaymentId[],
): Promise<number[]> {
  const rows = await tx.query<{ id: number }>(findIds, [payments.map((one) => one.orderId), payments.map((one) => one.reference)]);
  return rows.map((row) => row.id);
}
