import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';

const lockKnown: Statement = {
  name: 'share-customers',
  text: `SELECT user_id AS "userId", closed FROM customers WHERE user_id = ANY($1) ORDER BY user_id FOR KEY SHARE`,
};

const makeUnknown: Statement = {
  name: 'make-customers',
  text: 'INSERT INTO customers (user_id) SELECT id FROM unnest($1::uuid[]) AS id ORDER BY id ON CONFLICT DO NOTHING',
};

/**
 * Keeps customers from being closed until the transaction ends, and says which of them are closed already. Customers that
 * never ordered are made on the way. Many may share a customer; only closing takes the row alone.
 */
export async function shareCustomers(tx: Transaction, userIds: readonly string[]): Promise<Set<string>> {
  let rows = await tx.query<{ userId: string; closed: boolean }>(lockKnown, [userIds]);
  if (rows.length < userIds.length) {
    tx.send(makeUnknown, [userIds]);
    rows = await tx.query(lockKnown, [userIds]);
  }
  return new Set(rows.filter((row) => row.closed).map((row) => row.userId));
}

export interface Customer {
  readonly closed: boolean;
  /** The latest attempt to close them that was refused for open orders; 0: none. */
  readonly refusedAttempt: number;
}

/** Waits until nobody shares the customer, and keeps everybody from ordering for them meanwhile. */
export async function lockCustomer(tx: Transaction, userId: string): Promise<Customer> {
  await tx.execute('INSERT INTO customers (user_id) VALUES ($1) ON CONFLICT DO NOTHING', [userId]);
  return onlyRow(
    await tx.query<Customer>(
      'SELECT closed, refused_attempt AS "refusedAttempt" FROM customers WHERE user_id = $1 FOR UPDATE',
      [userId],
    ),
  );
}

export async function noteRefusedAttempt(tx: Transaction, userId: string, attempt: number): Promise<void> {
  await tx.execute('UPDATE customers SET refused_attempt = $2 WHERE user_id = $1', [userId, attempt]);
}

export async function markClosed(tx: Transaction, userId: string): Promise<void> {
  await tx.execute('UPDATE customers SET closed = true WHERE user_id = $1', [userId]);
}

/** At most 100 ids: enough to act on, and a bounded answer. */
export async function openOrdersOfCustomer(tx: Transaction, userId: string): Promise<number[]> {
  const rows = await tx.query<{ id: number }>(
    `SELECT id FROM orders WHERE owner_id = $1 AND status IN ('placed', 'approved') ORDER BY id LIMIT 100`,
    [userId],
  );
  return rows.map((row) => row.id);
}
