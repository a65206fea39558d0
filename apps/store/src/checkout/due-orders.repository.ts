import type { Reader, Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { constraintOf, sqlStateOf } from '@plant-shop/platform/postgres/sqlstate';
import type { DueTransition } from '../orders/order.js';

/** An order whose `transition` is due at this version. */
export interface DueOrder {
  readonly id: number;
  readonly version: number;
  readonly transition: DueTransition['transition'];
}

/** True for orders that are not set aside at their present version. A scalar subquery, so that Postgres looks each order up by its key. */
const isNotSetAside = `(
  SELECT true FROM orders_set_aside AS aside WHERE aside.order_id = orders.id AND aside.order_version = orders.version
) IS NULL`;

// Not prepared: a plan made while there were few orders would read all of them.
const findNextDue = `SELECT extract(epoch FROM clock)::float8 * 1000 AS now, extract(epoch FROM next.due_at - clock)::float8 * 1000 AS "inMs",
           CASE WHEN isfinite(placed_at) THEN extract(epoch FROM placed_at - clock)::float8 * 1000 ELSE 0 END AS "aheadMs"
         FROM clock_timestamp() AS clock CROSS JOIN feed_head LEFT JOIN (
           SELECT due_at FROM ONLY orders WHERE due_at IS NOT NULL AND ${isNotSetAside} ORDER BY due_at LIMIT 1
         ) AS next ON true`;

/** A reading of the database's clock, in milliseconds. */
export interface DueReading {
  readonly now: number;
  /** The time until the next order is due; 0 or less: one is due now, null: none will be. */
  readonly inMs: number | null;
  /** How far the newest order was placed ahead of the clock. */
  readonly aheadMs: number;
}

export const readDue = async (db: Reader): Promise<DueReading> => onlyRow(await db.query<DueReading>(findNextDue));

const bringForward: Statement = {
  name: 'bring-due-orders-forward',
  text: `WITH ahead AS MATERIALIZED (
           SELECT id FROM ONLY orders WHERE due_at IS NOT NULL AND due_since > now() + interval '1 second' ORDER BY id FOR NO KEY UPDATE
         )
         UPDATE ONLY orders SET
           due_since = now(),
           due_at = greatest(due_at - (due_since - now()), least(due_at, CASE WHEN due_transition = 'deliver' THEN coalesce(ship_date, '-infinity') ELSE '-infinity' END))
         FROM ahead WHERE orders.id = ahead.id`,
};

/**
 * Brings transitions forward that were scheduled before the clock was set back: they come due after their whole delay from now, not by
 * the difference later. Deliveries that wait for their ship date still do.
 */
export async function bringForwardDue(tx: Transaction): Promise<number> {
  return tx.execute(bringForward);
}

type DueOfBasket = DueOrder & { readonly basketId: number | null };

const dueColumns = 'id, version, due_transition AS transition, basket_id AS "basketId"';
const isDue = `due_at <= now() AND ${isNotSetAside}`;

const lockDue: Statement = {
  name: 'lock-due-orders',
  text: `SELECT ${dueColumns} FROM ONLY orders WHERE ${isDue} ORDER BY due_at LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED`,
};
const dueOfBaskets = `SELECT ${dueColumns} FROM ONLY orders WHERE basket_id = ANY($1) AND ${isDue} ORDER BY id`;
const findDueOfBaskets: Statement = { name: 'find-due-orders-of-baskets', text: dueOfBaskets };
const lockDueOfBaskets: Statement = { name: 'lock-due-orders-of-baskets', text: `${dueOfBaskets} FOR NO KEY UPDATE SKIP LOCKED` };

/**
 * Locks and returns due orders, the longest due first. Skips orders that another replica has locked or that are set aside. The due
 * orders of a basket are returned together, also beyond the limit: a basket is skipped while one of them is locked, since a wait for it
 * could be a deadlock.
 */
export async function lockDueOrders(tx: Transaction, limit: number): Promise<DueOrder[]> {
  const due = await tx.query<DueOfBasket>(lockDue, [limit]);
  const basketIds = [...new Set(due.flatMap(({ basketId }) => basketId ?? []))];
  if (basketIds.length === 0) return due;
  const [all, locked] = await Promise.all([tx.query<DueOfBasket>(findDueOfBaskets, [basketIds]), tx.query<DueOfBasket>(lockDueOfBaskets, [basketIds])]);
  const held = new Set(locked.map(({ id }) => id));
  const incomplete = new Set(all.flatMap(({ id, basketId }) => (held.has(id) ? [] : basketId)));
  return [...due.filter(({ basketId }) => basketId === null), ...locked.filter(({ basketId }) => !incomplete.has(basketId))];
}

const lockDueById: Statement = {
  name: 'lock-due-orders-by-id',
  text: `SELECT id, version, due_transition AS transition FROM ONLY orders WHERE id = ANY($1) AND due_at <= now()
         ORDER BY id FOR NO KEY UPDATE SKIP LOCKED`,
};

/** Locks and returns those of the orders that are still due, set aside or not. Skips orders that another replica has locked. */
export function lockDueOrdersById(tx: Transaction, orderIds: readonly number[]): Promise<DueOrder[]> {
  return tx.query(lockDueById, [orderIds]);
}

const lockDueOne: Statement = {
  name: 'lock-due-order',
  text: 'SELECT id, version, due_transition AS transition FROM ONLY orders WHERE id = $1 AND due_at <= now() FOR NO KEY UPDATE',
};

/** Locks and returns an order if it is still due, set aside or not. Waits for a transaction that holds it. */
export async function lockDueOrder(tx: Transaction, orderId: number): Promise<DueOrder | undefined> {
  const [order] = await tx.query<DueOrder>(lockDueOne, [orderId]);
  return order;
}

const insert: Statement = {
  name: 'set-order-aside',
  text: `INSERT INTO orders_set_aside (order_id, order_version, due_transition, sqlstate, broken) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (order_id) DO UPDATE SET order_version = excluded.order_version, due_transition = excluded.due_transition,
           sqlstate = excluded.sqlstate, broken = excluded.broken, at = now()
         WHERE orders_set_aside.order_version <> excluded.order_version
         RETURNING order_id`,
};

/** Sets an order aside. @returns false when another replica had already done so */
export async function setOrderAside(db: Reader, order: DueOrder, error: unknown): Promise<boolean> {
  const broken = constraintOf(error) ?? '';
  const rows = await db.query(insert, [order.id, order.version, order.transition, sqlStateOf(error) ?? '', broken]);
  return rows.length > 0;
}

/** An order that is set aside, with the error of Postgres. */
export interface SetAside extends DueOrder {
  readonly sqlState: string;
  /** The violated constraint; empty: the error named none. */
  readonly broken: string;
}

const stillDue = `FROM orders_set_aside AS aside JOIN orders ON orders.id = aside.order_id AND orders.version = aside.order_version
  WHERE orders.due_at IS NOT NULL`;

/** Lists orders that are set aside, by ascending id. */
export function findSetAside(db: Reader, after: number, limit: number): Promise<SetAside[]> {
  return db.query<SetAside>(
    `SELECT orders.id, orders.version, orders.due_transition AS transition, aside.sqlstate AS "sqlState", aside.broken
     ${stillDue} AND orders.id > $1 ORDER BY orders.id LIMIT $2`,
    [after, limit],
  );
}

export async function countSetAside(db: Reader): Promise<number> {
  const [row] = await db.query<{ count: number }>({ name: 'count-orders-set-aside', text: `SELECT count(*) ${stillDue}` });
  return row?.count ?? 0;
}

export async function deleteSetAside(tx: Transaction, orderId: number): Promise<void> {
  await tx.execute('DELETE FROM orders_set_aside WHERE order_id = $1', [orderId]);
}

/** Removes orders that have changed since they were set aside, such as one that its owner cancelled. */
export async function deleteOutdatedSetAside(db: Reader): Promise<void> {
  await db.query(
    `DELETE FROM orders_set_aside AS aside USING orders
     WHERE orders.id = aside.order_id AND (orders.version <> aside.order_version OR orders.due_at IS NULL)`,
  );
}
