import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';
import type { PaymentState } from './payment.js';

/** What a payment is known by: providers draw references for each order. */
export interface PaymentId {
  readonly orderId: number;
  readonly reference: string;
}

export interface KnownPayment extends PaymentId {
  readonly state: PaymentState;
}

const findByReferences: Statement = {
  name: 'find-payments',
  text: `SELECT p.order_id AS "orderId", p.reference, p.state FROM unnest($1::bigint[], $2::text[]) AS t (order_id, reference)
         JOIN payments p ON p.order_id = t.order_id AND p.reference = t.reference`,
};

/** Those of them that were heard of. Call under the locks of their orders. */
export function findPayments(tx: Transaction, payments: readonly PaymentId[]): Promise<KnownPayment[]> {
  return tx.query(findByReferences, [payments.map((one) => one.orderId), payments.map((one) => one.reference)]);
}

const write: Statement = {
  name: 'save-payments',
  text: `INSERT INTO payments (order_id, reference, state) SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[])
         ON CONFLICT (order_id, reference)
         DO UPDATE SET state = excluded.state, at = now(), refund_id = coalesce(payments.refund_id, nextval('refund_ids'))`,
};

/** Each payment once. */
export function savePayments(tx: Transaction, payments: readonly KnownPayment[]): void {
  if (payments.length === 0) return;
  tx.send(write, [
    payments.map((one) => one.orderId),
    payments.map((one) => one.reference),
    payments.map((one) => one.state),
  ]);
}

const findIds: Statement = {
  name: 'find-refund-ids',
  text: `SELECT p.refund_id AS id FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS t (order_id, reference, n)
         JOIN payments p ON p.order_id = t.order_id AND p.reference = t.reference ORDER BY n`,
};

/** The ids of payments as refunds, in the order of the payments. Call after these are saved. */
export async function findRefundIds(
  tx: Transaction,
  payments: readonly PaymentId[],
): Promise<number[]> {
  const rows = await tx.query<{ id: number }>(findIds, [payments.map((one) => one.orderId), payments.map((one) => one.reference)]);
  return rows.map((row) => row.id);
}
