import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { RowsParameter } from '@plant-shop/platform/postgres/rows';
import type { PaymentState } from './payment.js';

/** An order's part of what a provider's reference paid: one order, or the orders of one basket. */
export interface PaymentId {
  readonly orderId: number;
  readonly reference: string;
}

export interface StoredPayment extends PaymentId {
  readonly state: PaymentState;
}

const lock: Statement = {
  name: 'lock-payment-references',
  text: `SELECT count(pg_advisory_xact_lock(1, hash)) FROM (SELECT DISTINCT hashtext(reference) AS hash FROM unnest($1::text[]) AS reference ORDER BY hash) AS sorted`,
};

/**
 * Locks references until the transaction ends, since a new one has no row to lock. Call it before orders are locked: reports with one
 * reference for two orders then wait here.
 */
export function lockReferences(tx: Transaction, references: readonly string[]): void {
  tx.send(lock, [references]);
}

const findByReferences: Statement = {
  name: 'find-payments',
  text: `SELECT order_id AS "orderId", reference, state FROM payments WHERE reference = ANY($1) ORDER BY reference, order_id`,
};

/** Finds the payments that were reported before, of whatever order. Call it while references and orders are locked. */
export function findPayments(tx: Transaction, references: readonly string[]): Promise<StoredPayment[]> {
  return tx.query(findByReferences, [references]);
}

const findAccepted: Statement = {
  name: 'find-accepted-payment',
  text: `SELECT order_id AS "orderId", reference, state FROM payments WHERE order_id = $1 AND state = 'accepted'`,
};

/** Returns the payment by which an order was approved; undefined: it is unpaid, or was approved by the simulated provider. Call it while the order is locked. */
export async function findAcceptedPayment(tx: Transaction, orderId: number): Promise<StoredPayment | undefined> {
  const [payment] = await tx.query<StoredPayment>(findAccepted, [orderId]);
  return payment;
}

const saved = new RowsParameter<StoredPayment>(
  ['order_id', 'bigint', ({ orderId }) => orderId],
  ['reference', 'text', ({ reference }) => reference],
  ['state', 'text', ({ state }) => state],
);

const write: Statement = {
  name: 'save-payments',
  text: `INSERT INTO payments (${saved.names}, at, refund_id)
         SELECT ${saved.names}, clock_timestamp(), CASE WHEN state = 'refund-due' THEN nextval('refund_ids') END FROM ${saved.from()}
         ON CONFLICT (reference, order_id) DO UPDATE SET state = excluded.state, at = excluded.at, refund_id = excluded.refund_id`,
};

const lockNumbering: Statement = { name: 'lock-refund-ids', text: 'SELECT pg_advisory_xact_lock(3, 0)' };

/**
 * Inserts or updates payments. Pass each payment at most once: Postgres refuses to update a row twice in one statement. Refunds become
 * visible in the order of their ids: until the transaction ends, no other one draws an id. The lock is the last that a transaction takes.
 */
export function savePayments(tx: Transaction, payments: readonly StoredPayment[]): void {
  if (payments.length === 0) return;
  if (payments.some(({ state }) => state === 'refund-due')) tx.send(lockNumbering, []);
  tx.send(write, saved.values(payments));
}

const findIds: Statement = {
  name: 'find-refund-ids',
  text: `SELECT refund_id AS id FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS t (reference, order_id, n) JOIN payments USING (reference, order_id) ORDER BY n`,
};

/** Returns the payments' refund ids, in the order of `payments`. Call it after `savePayments`. */
export async function findRefundIds(tx: Transaction, payments: readonly PaymentId[]): Promise<number[]> {
  const rows = await tx.query<{ id: number }>(findIds, [payments.map(({ reference }) => reference), payments.map(({ orderId }) => orderId)]);
  return rows.map((row) => row.id);
}
