import type { Transaction } from '@plant-shop/platform/postgres/database';

/** Makes what is due later due so much earlier. */
export async function bringForwardAll(tx: Transaction, seconds: number): Promise<void> {
  await tx.execute(
    `WITH due AS MATERIALIZED (SELECT id FROM orders WHERE due_at IS NOT NULL ORDER BY id FOR NO KEY UPDATE)
     UPDATE orders SET due_at = due_at - $1 * interval '1 second' FROM due WHERE orders.id = due.id`,
    [seconds],
  );
}

interface TestEvent {
  readonly id: string;
  readonly at: Date;
  readonly ownerId: string | undefined;
  readonly body: string;
}

/** Adds an event without an order to the feed. */
export async function insertEvent(tx: Transaction, { id, at, ownerId, body }: TestEvent): Promise<void> {
  await tx.execute('INSERT INTO order_transitions (at, owner_id, event_id, body) VALUES ($1, $2, $3, $4)', [at, ownerId, id, body]);
}

/**
 * Deletes all orders with what belongs to them, and frees their units. Their events stay in the feed, which has no gaps, as events
 * without an order: clients may choose an order's id again.
 * @returns the number of orders
 */
export async function deleteOrders(tx: Transaction): Promise<number> {
  // Keeps out every transaction that locks or changes rows, from a moment at which none does: orders lock stock first, and payments last, so
  // who waits for one table and has another would end in a deadlock.
  await tx.execute(
    `DO $$ BEGIN
       LOOP
         BEGIN
           LOCK TABLE idempotency_keys, payments, baskets, orders, stock, order_transitions, order_counts_head, inventory_total, inventory_deltas
             IN EXCLUSIVE MODE NOWAIT;
           EXIT;
         EXCEPTION WHEN lock_not_available THEN
           PERFORM pg_sleep(0.002);
         END;
       END LOOP;
     END $$`,
  );
  for (const table of ['idempotency_keys', 'payments', 'order_notes', 'order_metadata', 'orders_set_aside', 'baskets', 'order_counts']) {
    await tx.execute(`DELETE FROM ${table}`);
  }
  await tx.execute('DELETE FROM stock_changes WHERE order_id IS NOT NULL');
  await tx.execute('DELETE FROM order_transitions WHERE event_id IS NULL');
  await tx.execute(
    `UPDATE order_transitions SET order_id = NULL, order_version = NULL, new_status = NULL, actor = NULL, client_id = NULL, reason = NULL WHERE order_id IS NOT NULL`,
  );
  const deletedOrders = await tx.execute('DELETE FROM orders');
  await tx.execute(
    `UPDATE stock SET reserved = 0, sold = 0, written_off = 0, version = version + 1,
       free = CASE WHEN listing = 'retired' THEN 0 ELSE supplied END, supplied = CASE WHEN listing = 'retired' THEN 0 ELSE supplied END
     WHERE (reserved, sold, written_off) <> (0, 0, 0)`,
  );
  await tx.execute('DELETE FROM inventory_deltas');
  await tx.execute(
    `UPDATE inventory_total AS total SET (available, pending, sold) = (
       SELECT coalesce(sum(free) FILTER (WHERE listing = 'available'), 0), coalesce(sum(free) FILTER (WHERE listing = 'pending'), 0),
         coalesce(sum(free) FILTER (WHERE listing = 'sold'), 0) FROM stock)`,
  );
  return deletedOrders;
}
