import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';

const lockKnown: Statement = {
  name: 'share-customers',
  text: `SELECT user_id AS "userId", closed FROM customers WHERE user_id = ANY($1) ORDER BY user_id FOR KEY SHARE`,
};

/**
 * Keeps customers from being closed until the transaction ends, and says which of them are closed already. Customers that
 * never ordered are made on the way. Many may share a customer; only closing takes the row alone.
 */
export async function shareCustomers(tx: Transaction, userIds: readonly string[]): Promise<Set<string>> {
  let rows = await tx.query<{ userId: string; closed: boolean }>(lockKnown, [userIds]);
  if (rows.length < userIds.length) {
    await tx.execute(
      `INSERT INTO customers (user_id) SELECT id FROM unnest($1::uuid[]) AS id ORDER BY id ON CONFLICT DO NOTHING`,
      [userIds],
    );
    rows = await tx.query(lockKnown, [userIds]);
  }
  return new Set(rows.filter((row) => row.closed).map((row) => row.userId));
}

/** Waits until nobody shares the customer, and keeps everybody from ordering for them meanwhile. */
export async function lockCustomer(tx: Transaction, userId: string): Promise<void> {
  await tx.execute('INSERT INTO customers (user_id) VALUES ($1) ON CONFLICT DO NOTHING', [userId]);
  await tx.query('SELECT 1 FROM customers WHERE user_id = $1 FOR UPDATE', [userId]);
}

export async function markClosed(tx: Transaction, userId: string): Promise<void> {
  await tx.execute('UPDATE customers SET closed = true WHERE user_id = $1', [userId]);
}
