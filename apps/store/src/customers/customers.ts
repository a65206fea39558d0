import { Controller, Injectable } from '@nestjs/common';
import { type CloseCustomer, type OpenOrders, store } from '@plant-shop/contracts/store';
import { Database, type Statement, type Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { assertNotAbandoned } from '@plant-shop/platform/patterns/saga/intent-table';

const lockExisting: Statement = {
  name: 'share-customers',
  text: `SELECT user_id AS "userId", closed FROM customers WHERE user_id = ANY($1) ORDER BY user_id FOR KEY SHARE`,
};

const insertMissing: Statement = {
  name: 'make-customers',
  text: 'INSERT INTO customers (user_id) SELECT id FROM unnest($1::uuid[]) AS id ORDER BY id ON CONFLICT DO NOTHING',
};

/**
 * Locks customers until the transaction ends, so that none of them is closed meanwhile. Inserts customers that have never ordered.
 * Transactions share the lock (FOR KEY SHARE); only closing a customer (`lockCustomer`) excludes it.
 * @returns those of the customers that are closed already
 */
export async function lockAgainstClosing(tx: Transaction, userIds: readonly string[]): Promise<Set<string>> {
  let rows = await tx.query<{ userId: string; closed: boolean }>(lockExisting, [userIds]);
  if (rows.length < userIds.length) {
    tx.send(insertMissing, [userIds]);
    rows = await tx.query(lockExisting, [userIds]);
  }
  return new Set(rows.filter((row) => row.closed).map((row) => row.userId));
}

const lockForUnpaid: Statement = {
  name: 'lock-customers-for-unpaid',
  text: 'SELECT count(*) FROM (SELECT FROM customers WHERE user_id = ANY($1) ORDER BY user_id FOR NO KEY UPDATE) AS locked',
};

/**
 * Locks customers until the transaction ends, so that no other transaction that calls this adds to their unpaid orders. Does not wait
 * for those that do not (`lockAgainstClosing`). Inserts customers that have never ordered, since a row is needed to lock.
 */
export function lockUnpaid(tx: Transaction, userIds: readonly string[]): void {
  if (userIds.length === 0) return;
  tx.send(insertMissing, [userIds]);
  tx.send(lockForUnpaid, [userIds]);
}

interface Customer {
  readonly closed: boolean;
  /** The latest attempt to close the customer that was refused because of open orders; 0: none. */
  readonly refusedAttempt: number;
}

/** Locks a customer exclusively. Waits for transactions that place or transfer orders for the customer, and blocks new ones. */
async function lockCustomer(tx: Transaction, userId: string): Promise<Customer> {
  await tx.execute('INSERT INTO customers (user_id) VALUES ($1) ON CONFLICT DO NOTHING', [userId]);
  return onlyRow(
    await tx.query<Customer>(
      'SELECT closed, refused_attempt AS "refusedAttempt" FROM customers WHERE user_id = $1 FOR UPDATE',
      [userId],
    ),
  );
}

async function recordRefusedAttempt(tx: Transaction, userId: string, attempt: number): Promise<void> {
  await tx.execute('UPDATE customers SET refused_attempt = $2 WHERE user_id = $1', [userId, attempt]);
}

/** Closes a customer and erases what the customer wrote: it may name people. */
async function markClosed(tx: Transaction, userId: string): Promise<void> {
  await tx.execute('UPDATE customers SET closed = true WHERE user_id = $1', [userId]);
  await tx.execute('UPDATE baskets SET external_id = NULL, metadata = NULL WHERE owner_id = $1', [userId]);
}

/** Returns the ids of the first 100 open orders, so that the answer stays small. */
async function openOrdersOfCustomer(tx: Transaction, userId: string): Promise<number[]> {
  const rows = await tx.query<{ id: number }>(
    `SELECT id FROM orders WHERE owner_id = $1 AND status IN ('placed', 'approved') ORDER BY id LIMIT 100`,
    [userId],
  );
  return rows.map((row) => row.id);
}

const shareErasing: Statement = { name: 'share-erasing', text: 'SELECT pg_advisory_xact_lock_shared(6, 0)' };
const excludeErasing: Statement = { name: 'exclude-erasing', text: 'SELECT pg_try_advisory_xact_lock(6, 0) AS "isMine"' };

/**
 * Keeps customers' data from being erased until the transaction ends, for one that moves rows: `eraseSome` would miss those that it waits for.
 * Does not wait. @returns false: data is being erased, or another transaction has called this
 */
export const lockAgainstErasing = async (tx: Transaction): Promise<boolean> => onlyRow(await tx.query<{ isMine: boolean }>(excludeErasing)).isMine;

const eraseSome: Statement = {
  name: 'erase-owner-data',
  text: `WITH owned AS MATERIALIZED (
           SELECT id FROM orders WHERE owner_id = $1 AND (external_id IS NOT NULL OR metadata IS NOT NULL OR ship_to IS NOT NULL)
           ORDER BY id LIMIT 1000 FOR NO KEY UPDATE
         ), unfindable AS (
           DELETE FROM order_metadata WHERE ctid = ANY(ARRAY(SELECT ctid FROM order_metadata WHERE owner_id = $1 LIMIT 10000)) RETURNING 1
         ), unnoted AS (
           DELETE FROM order_notes WHERE ctid = ANY(ARRAY(SELECT ctid FROM order_notes WHERE owner_id = $1 LIMIT 1000)) RETURNING 1
         ), erased AS (
           UPDATE orders SET external_id = NULL, metadata = NULL, ship_to = NULL FROM owned WHERE orders.id = owned.id RETURNING 1
         )
         SELECT (SELECT count(*) FROM unfindable) + (SELECT count(*) FROM unnoted) + (SELECT count(*) FROM erased) AS count`,
};

@Injectable()
export class CustomersService {
  constructor(private readonly database: Database) {}

  /**
   * Closes a customer whose user is being deleted, unless open orders remain, and erases what the user added to orders, with the notes on them. The store decides
   * this, because it places the orders. Idempotent.
   * @returns the open orders that keep the customer from being closed
   * @throws CodedError `unavailable` for an abandoned attempt
   */
  async close(context: RpcContext, { userId, attempt = 0 }: CloseCustomer): Promise<OpenOrders> {
    const result = await this.database.transaction(async (tx) => {
      const customer = await lockCustomer(tx, userId);
      if (customer.closed) return { openOrders: [] };
      assertNotAbandoned(context, attempt, customer.refusedAttempt);
      // A separate statement: one that locked and read at once would read the snapshot from before its lock wait (write skew).
      const openOrders = await openOrdersOfCustomer(tx, userId);
      if (openOrders.length > 0) await recordRefusedAttempt(tx, userId, attempt);
      else await markClosed(tx, userId);
      return { openOrders };
    });
    // In several transactions, since one would hold the locks of all orders. If a crash ends this, the repeated call continues.
    while (result.openOrders.length === 0 && (await this.eraseSome(userId)) > 0);
    return result;
  }

  /** @returns the number of rows that it changed; 0: nothing is left to erase */
  private eraseSome(userId: string): Promise<number> {
    return this.database.transaction(async (tx) => {
      tx.send(shareErasing, []);
      return onlyRow(await tx.query<{ count: number }>(eraseSome, [userId])).count;
    });
  }
}

@Controller()
export class CustomersController {
  constructor(private readonly customers: CustomersService) {}

  @Answers(store.closeCustomer)
  closeCustomer(closing: CloseCustomer, context: RpcContext): Promise<OpenOrders> {
    return this.customers.close(context, closing);
  }
}
