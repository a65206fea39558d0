import { drawFreeIds } from '@plant-shop/platform/postgres/assigned-ids';
import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import type { PageBounds } from '@plant-shop/platform/paging';
import { ifSampled, tracing } from '@plant-shop/platform/telemetry/tracing';
import { type OrderStatus, orderStatuses } from '@plant-shop/contracts/store';
import type { Due } from '../checkout/checkout.js';
import { type DueOrder, isNotSetAside } from '../checkout/set-aside.repository.js';
import type { OrderState, Transition } from './order.js';
import type { Placing } from './placing.js';

type Reader = Pick<Transaction, 'query'>;

/** Ids that one value of the sequence `order_ids` stands for: its increment. */
const idBlock = 1_000;

const columns = `id, plant_id AS "plantId", quantity, ship_date AS "shipDate", status, owner_id AS "ownerId", version,
  placed_at AS "placedAt", due_at AS "dueAt", due_move AS "dueMove", paid_at AS "paidAt", carrier,
  tracking_number AS "trackingNumber", refund`;

const findOrderById: Statement = { name: 'find-order', text: `SELECT ${columns} FROM orders WHERE id = $1` };

export async function findOrder(db: Reader, orderId: number): Promise<OrderState | undefined> {
  const [order] = await db.query<OrderState>(findOrderById, [orderId]);
  return order;
}

/** Which orders a list shows; what is absent does not matter. */
export interface OrderFilter {
  readonly ownerId?: string | undefined;
  readonly plantId?: number | undefined;
  readonly status?: readonly OrderStatus[] | undefined;
  readonly placedFrom?: string | undefined;
  readonly placedBefore?: string | undefined;
}

/** Longer than any transaction that places orders takes. */
const longestPlacing = `interval '5 minutes'`;

// An order's position is drawn after its transaction began, which is when it is placed, and before it ends. So times bound
// positions, and a list of last year begins there instead of reading all that came since.
const fromPosition = `(SELECT position FROM orders WHERE placed_at < $::timestamptz - ${longestPlacing} ORDER BY placed_at DESC LIMIT 1)`;
const beforePosition = `(SELECT position FROM orders WHERE placed_at >= $::timestamptz + ${longestPlacing} ORDER BY placed_at LIMIT 1)`;

/**
 * Newest first, one more than the page holds. Each status is read from an index in the order of the list, only as far as the page
 * needs: with a filter over all of the owner's orders, who has 200,000 and none of them placed waited for all to be read.
 */
export function listOrders(db: Reader, filter: OrderFilter, { before, limit }: PageBounds): Promise<(OrderState & { position: number })[]> {
  const { ownerId, plantId, placedFrom, placedBefore, status = orderStatuses } = filter;
  const values: unknown[] = [status, before, limit + 1];
  const conditions: string[] = [];
  const bounds: string[] = [];
  const names: string[] = [];
  const add = (name: string, value: unknown, ...texts: readonly { readonly to: string[]; readonly sql: string }[]): void => {
    if (value === undefined) return;
    values.push(value);
    names.push(name);
    for (const { to, sql } of texts) to.push(sql.replaceAll('$', `$${values.length}`));
  };
  add('owner', ownerId, { to: conditions, sql: 'owner_id = $' });
  add('plant', plantId, { to: conditions, sql: 'plant_id = $' });
  add('from', placedFrom, { to: conditions, sql: 'placed_at >= $' }, { to: bounds, sql: `position > coalesce(${fromPosition}, 0)` });
  add('before', placedBefore, { to: conditions, sql: 'placed_at < $' }, { to: bounds, sql: `position < coalesce(${beforePosition}, ${Number.MAX_SAFE_INTEGER})` });
  const where = ['orders.status = wanted.status', 'position < $2', ...conditions, ...bounds].join(' AND ');
  return db.query(
    {
      name: ['list-orders', ...names].join('-'),
      text: `SELECT listed.* FROM unnest($1::text[]) AS wanted (status) CROSS JOIN LATERAL (
               SELECT ${columns}, position FROM orders WHERE ${where} ORDER BY position DESC LIMIT $3
             ) AS listed ORDER BY position DESC LIMIT $3`,
    },
    values,
  );
}

/** From placing on. An order has few: the lifecycle is short, and what may be repeated is bounded by who may do it. */
export function findTransitions(db: Reader, orderId: number): Promise<Transition[]> {
  return db.query<Transition>(
    `SELECT at, previous_status AS "previousStatus", new_status AS "newStatus", actor, reason, owner_id AS "ownerId",
       event_id AS "eventId", carrier, tracking_number AS "trackingNumber",
       refund_id AS "refundId"
     FROM order_transitions WHERE order_id = $1 ORDER BY order_version LIMIT 1000`,
    [orderId],
  );
}

/** A change that moves no status: a new owner, a shipment. It stands in the timeline and sends no event. */
export async function amendOrder(
  tx: Transaction,
  after: OrderState,
  step: { readonly actor: string; readonly reason: 'transferred' | 'shipped' },
): Promise<void> {
  await tx.execute(
    `WITH timeline AS (
       INSERT INTO order_transitions (order_id, order_version, new_status, at, actor, reason, owner_id, traceparent, carrier, tracking_number)
       SELECT $1, $2, $3, clock_timestamp(), $4, $5, $6, $9, shipment.carrier, shipment.tracking_number
       FROM (SELECT CASE WHEN $5 = 'shipped' THEN $7 END, CASE WHEN $5 = 'shipped' THEN $8 END) AS shipment (carrier, tracking_number)
     )
     UPDATE orders SET version = $2, owner_id = $6, carrier = $7, tracking_number = $8 WHERE id = $1`,
    [
      after.id,
      after.version,
      after.status,
      step.actor,
      step.reason,
      after.ownerId,
      after.carrier,
      after.trackingNumber,
      ifSampled(tracing?.active?.traceparent),
    ],
  );
}

/** When the transaction began: `now()` for all of its statements. */
export async function startOf(tx: Transaction): Promise<Date> {
  return onlyRow(await tx.query<{ at: Date }>({ name: 'start-of-transaction', text: 'SELECT now() AS at' })).at;
}

const lockOrdersById: Statement = {
  name: 'lock-orders',
  text: `SELECT ${columns} FROM orders WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE`,
};

/** In ascending order of ids, as everybody locks them. */
export function lockOrders(tx: Transaction, orderIds: readonly number[]): Promise<OrderState[]> {
  return tx.query<OrderState>(lockOrdersById, [orderIds]);
}

const findNextDue: Statement = {
  name: 'find-next-due-order',
  text: `SELECT extract(epoch FROM due_at - clock_timestamp())::float8 * 1000 AS "inMs"
         FROM orders WHERE due_at IS NOT NULL AND ${isNotSetAside} ORDER BY due_at LIMIT 1`,
};

/** In how many milliseconds the next order is due; zero or less: at least one is. Undefined: none will be. */
export async function msToNextDue(db: Reader): Promise<number | undefined> {
  const [next] = await db.query<{ inMs: number }>(findNextDue);
  return next?.inMs;
}

const lockDueOrders: Statement = {
  name: 'lock-due-orders',
  text: `SELECT id, version, due_move AS move FROM orders WHERE due_at <= now() AND ${isNotSetAside}
         ORDER BY due_at LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED`,
};

/** Orders whose time has come and that no other replica is moving right now, without those that are set aside. */
export function takeDueOrders(tx: Transaction, limit: number): Promise<DueOrder[]> {
  return tx.query(lockDueOrders, [limit]);
}

const lockDueOrdersById: Statement = {
  name: 'lock-due-orders-by-id',
  text: `SELECT id, version, due_move AS move FROM orders WHERE id = ANY($1) AND due_at <= now()
         ORDER BY id FOR NO KEY UPDATE SKIP LOCKED`,
};

/** Those of them that are still due and that no other replica is moving right now, set aside or not. */
export function takeDueOrdersById(tx: Transaction, orderIds: readonly number[]): Promise<DueOrder[]> {
  return tx.query(lockDueOrdersById, [orderIds]);
}

/**
 * Holds ids that clients chose, in ascending order, until the transaction ends, and says which are taken. A lock on a row
 * cannot do it: there is none yet.
 */
export async function claimOrderIds(tx: Transaction, orderIds: readonly number[]): Promise<Set<number>> {
  if (orderIds.length === 0) return new Set();
  tx.send(
    { name: 'claim-order-ids', text: 'SELECT pg_advisory_xact_lock(id) FROM unnest($1::bigint[]) AS id ORDER BY id' },
    [[...orderIds].sort((a, b) => a - b)],
  );
  // A new statement: the one above may have waited, and its snapshot is older than its wait.
  return findTakenIds(tx, orderIds);
}

export async function findTakenIds(db: Reader, orderIds: readonly number[]): Promise<Set<number>> {
  const rows = await db.query<{ id: number }>(
    { name: 'taken-order-ids', text: 'SELECT id FROM orders WHERE id = ANY($1)' },
    [orderIds],
  );
  return new Set(rows.map((row) => row.id));
}

// A scalar subquery is looked up in the index, once for each id. Postgres may turn NOT EXISTS into a join that reads the
// whole table.
const drawBlocks = `
  WITH drawn AS MATERIALIZED (SELECT nextval('order_ids') AS first FROM generate_series(1, $1))
  SELECT id FROM drawn CROSS JOIN LATERAL generate_series(first, first + ${idBlock - 1}) AS block (id)
  WHERE (SELECT true FROM orders WHERE orders.id = block.id) IS NULL ORDER BY id`;

/** At least `count` ids that no other process draws and that no client has taken so far, in ascending order. */
export function drawOrderIds(db: Reader, count: number): Promise<number[]> {
  return drawFreeIds({ count, blockSize: idBlock }, async (blocks) =>
    (await db.query<{ id: number }>(drawBlocks, [blocks])).map((row) => row.id),
  );
}

/**
 * Holds drawn ids like ids that clients chose (`claimOrderIds`), so that no client can take them before the transaction
 * ends, and draws others for those that are taken. Waits for nobody: an id that another transaction holds counts as taken.
 * @param except ids that this transaction itself holds
 */
export async function holdDrawnIds(tx: Transaction, drawn: readonly number[], except: ReadonlySet<number>): Promise<number[]> {
  const held = await holdFreeIds(tx, drawn);
  while (held.length < drawn.length) {
    const others = (await drawOrderIds(tx, drawn.length)).filter((id) => !except.has(id));
    held.push(...(await holdFreeIds(tx, others.slice(0, drawn.length - held.length))));
  }
  return held;
}

async function holdFreeIds(tx: Transaction, orderIds: readonly number[]): Promise<number[]> {
  const rows = await tx.query<{ id: number }>(
    'SELECT id FROM unnest($1::bigint[]) AS id WHERE pg_try_advisory_xact_lock(id)',
    [orderIds],
  );
  const held = rows.map((row) => row.id);
  // A new statement: the snapshot of the one above is older than its locks.
  const taken = await findTakenIds(tx, held);
  return held.filter((id) => !taken.has(id));
}

// Everything is locked by now, so one statement may write it all: what modifying CTEs cannot promise is an order, and
// none is needed any more.
const writePlaced: Statement = {
  name: 'write-placed-orders',
  text: `
    WITH placed AS (
      SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $4::timestamptz[], $5::uuid[], $8::text[])
        AS t (id, plant_id, quantity, ship_date, owner_id, traceparent)
    ), new_orders AS (
      INSERT INTO orders (id, plant_id, quantity, ship_date, status, owner_id, due_at, due_move)
      SELECT id, plant_id, quantity, ship_date, 'placed', owner_id, now() + $6 * interval '1 millisecond', $7 FROM placed
    ), timeline AS (
      INSERT INTO order_transitions (order_id, order_version, new_status, at, actor, reason, owner_id, traceparent)
      SELECT id, 1, 'placed', now(), owner_id, 'placed', owner_id, traceparent FROM placed
    ), inventory AS (
      INSERT INTO inventory_deltas (available, pending, sold)
      SELECT -sum(quantity), sum(quantity), 0 FROM placed
    ), reserved AS (
      SELECT plant_id, sum(quantity) AS units FROM placed GROUP BY plant_id
    )
    UPDATE stock SET free = free - units, reserved = stock.reserved + units, version = version + 1
    FROM reserved WHERE stock.plant_id = reserved.plant_id`,
};

/** Orders, their timeline, their units and the inventory's delta, for plants that are listed available. */
export function writePlacedOrders(tx: Transaction, placings: readonly Placing[], due: Due): void {
  tx.send(writePlaced, [
    placings.map((one) => one.orderId),
    placings.map((one) => one.plantId),
    placings.map((one) => one.quantity),
    placings.map((one) => one.shipDate),
    placings.map((one) => one.ownerId),
    due.inMs,
    due.move,
    // Null pads the others' columns: while nobody traces, a batch writes no list of nothing.
    tracing ? placings.map((one) => ifSampled(one.traceparent)) : null,
  ]);
}

const findCauses: Statement = {
  name: 'find-causes-of-orders',
  text: `SELECT t.traceparent FROM orders o JOIN order_transitions t ON t.order_id = o.id AND t.order_version = o.version
         WHERE o.id = ANY($1) AND t.traceparent IS NOT NULL`,
};

/** The spans in which orders became what they are. */
export async function causesOf(db: Reader, orderIds: readonly number[]): Promise<string[]> {
  const rows = await db.query<{ traceparent: string }>(findCauses, [orderIds]);
  return rows.map((row) => row.traceparent);
}

/** One order's way to its next status, decided and ready to be written. */
export interface WrittenMove {
  readonly orderId: number;
  readonly version: number;
  readonly previousStatus: OrderStatus;
  readonly newStatus: OrderStatus;
  readonly ownerId: string;
  readonly trackingNumber: string;
  readonly paid: boolean;
  readonly due: Due | undefined;
  readonly actor: string;
  readonly reason: string;
  readonly eventId: string;
  /** The event's bytes, serialised once. */
  readonly body: string;
  /** The span that it was moved in, when that is sampled. */
  readonly traceparent: string | null;
}

// `position` is drawn here, after the orders were locked: per order it goes up with the version.
const writeMoved: Statement = {
  name: 'write-moved-orders',
  text: `
    WITH moved AS (
      SELECT * FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::uuid[], $7::text[], $8::boolean[],
                           $9::bigint[], $10::text[], $11::text[], $12::text[], $13::uuid[], $14::text[], $15::text[])
        AS t (id, version, previous_status, new_status, owner_id, tracking_number, paid,
              due_in, due_move, actor, reason, event_id, body, traceparent)
    ), timeline AS (
      INSERT INTO order_transitions (order_id, order_version, previous_status, new_status, at, actor, reason, owner_id,
                                     event_id, body, traceparent)
      SELECT id, version, previous_status, new_status, $1, actor, reason, owner_id, event_id, body, traceparent
      FROM moved ORDER BY id
    )
    UPDATE orders SET
      status = moved.new_status,
      version = moved.version,
      tracking_number = moved.tracking_number,
      paid_at = CASE WHEN moved.paid THEN $1 ELSE orders.paid_at END,
      due_at = now() + moved.due_in * interval '1 millisecond',
      due_move = moved.due_move
    FROM moved WHERE orders.id = moved.id`,
};

/** State and event together, in the transaction of the move. */
export function writeMoves(tx: Transaction, at: Date, moves: readonly WrittenMove[]): void {
  tx.send(writeMoved, [
    at,
    moves.map((one) => one.orderId),
    moves.map((one) => one.version),
    moves.map((one) => one.previousStatus),
    moves.map((one) => one.newStatus),
    moves.map((one) => one.ownerId),
    moves.map((one) => one.trackingNumber),
    moves.map((one) => one.paid),
    moves.map((one) => one.due?.inMs ?? null),
    moves.map((one) => one.due?.move ?? null),
    moves.map((one) => one.actor),
    moves.map((one) => one.reason),
    moves.map((one) => one.eventId),
    moves.map((one) => one.body),
    tracing ? moves.map((one) => one.traceparent) : null,
  ]);
}

/** A step that moves no status: money that is owed back, by its order and payment. */
export interface OwedBack {
  readonly orderId: number;
  readonly version: number;
  readonly status: OrderStatus;
  readonly ownerId: string;
  readonly reference: string;
  readonly actor: string;
  readonly traceparent: string | null;
}

const writeOwed: Statement = {
  name: 'write-owed-back',
  text: `
    WITH owed AS (
      SELECT * FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::uuid[], $6::text[], $7::text[], $8::text[])
        AS t (id, version, status, owner_id, reference, actor, traceparent)
    ), timeline AS (
      INSERT INTO order_transitions (order_id, order_version, new_status, at, actor, reason, owner_id, refund_id, traceparent)
      SELECT id, version, status, $1, actor, 'refund due', owner_id, payments.refund_id, traceparent
      FROM owed JOIN payments ON payments.order_id = owed.id AND payments.reference = owed.reference ORDER BY id, version
    ), latest AS (
      SELECT id, max(version) AS version FROM owed GROUP BY id
    )
    UPDATE orders SET version = latest.version, refund = 'due' FROM latest WHERE orders.id = latest.id`,
};

/** Call after the payments are saved. */
export function writeOwedBack(tx: Transaction, at: Date, owed: readonly OwedBack[]): void {
  if (owed.length === 0) return;
  tx.send(writeOwed, [
    at,
    owed.map((one) => one.orderId),
    owed.map((one) => one.version),
    owed.map((one) => one.status),
    owed.map((one) => one.ownerId),
    owed.map((one) => one.reference),
    owed.map((one) => one.actor),
    owed.map((one) => one.traceparent),
  ]);
}

/** At most 100 ids: enough to act on, and a bounded answer. */
export async function openOrdersOfPlant(tx: Transaction, plantId: number): Promise<number[]> {
  const rows = await tx.query<{ id: number }>(
    `SELECT id FROM orders WHERE plant_id = $1 AND status IN ('placed', 'approved') ORDER BY id LIMIT 100`,
    [plantId],
  );
  return rows.map((row) => row.id);
}

export async function openOrdersOfOwner(tx: Transaction, ownerId: string): Promise<number[]> {
  const rows = await tx.query<{ id: number }>(
    `SELECT id FROM orders WHERE owner_id = $1 AND status IN ('placed', 'approved') ORDER BY id LIMIT 100`,
    [ownerId],
  );
  return rows.map((row) => row.id);
}
