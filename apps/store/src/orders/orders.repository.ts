import { randomBytes } from 'node:crypto';
import type { OrderEvent } from '@plant-shop/contracts/events';
import { type OrderStatus, orderStatuses } from '@plant-shop/contracts/store';
import type { FeedHead, FeedNudge } from '@plant-shop/events/event';
import { assignNumbers } from '@plant-shop/events/feed';
import type { PageBounds } from '@plant-shop/platform/paging';
import { drawFreeIds } from '@plant-shop/platform/postgres/assigned-ids';
import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { ifSampled, tracing } from '@plant-shop/platform/telemetry/tracing';
import { v7 as uuidv7 } from 'uuid';
import { addInventory, addUnits, inventoryOf, noInventory, noUnits, type StockState, type Units } from '../stock/stock.js';
import { appendInventoryDelta, lockStockOfOrders, moveUnits } from '../stock/stock.repository.js';
import type { Amendment, DueAfterPlacing, OrderState, Placement, StatusChange, Step } from './order.js';
import type { TimelineRow } from './order.views.js';

type Reader = Pick<Transaction, 'query'>;

const orderColumns = `id, plant_id AS "plantId", quantity, ship_date AS "shipDate", status, owner_id AS "ownerId", version,
  placed_at AS "placedAt", due_at AS "dueAt", due_move AS "dueTransition", paid_at AS "paidAt", carrier,
  tracking_number AS "trackingNumber", refund`;

// Reading

const findOrderById: Statement = { name: 'find-order', text: `SELECT ${orderColumns} FROM orders WHERE id = $1` };

export async function findOrder(db: Reader, orderId: number): Promise<OrderState | undefined> {
  const [order] = await db.query<OrderState>(findOrderById, [orderId]);
  return order;
}

/**
 * Returns an order's timeline, oldest first, at most 1,000 rows. Orders have few: the lifecycle is short, and steps that can repeat
 * (shipment, transfer, refund) need staff or provider permissions.
 */
export function findTransitions(db: Reader, orderId: number): Promise<TimelineRow[]> {
  return db.query<TimelineRow>(
    `SELECT at, previous_status AS "previousStatus", new_status AS "newStatus", actor, reason, owner_id AS "ownerId",
       event_id AS "eventId", carrier, tracking_number AS "trackingNumber",
       refund_id AS "refundId"
     FROM order_transitions WHERE order_id = $1 ORDER BY order_version LIMIT 1000`,
    [orderId],
  );
}

/** Conditions that all listed orders meet; an absent one does not restrict. */
export interface OrderFilter {
  readonly ownerId?: string | undefined;
  readonly plantId?: number | undefined;
  readonly status?: readonly OrderStatus[] | undefined;
  /** Inclusive. */
  readonly placedFrom?: string | undefined;
  /** Exclusive. */
  readonly placedBefore?: string | undefined;
}

/** Longer than any transaction that places orders takes. */
const longestPlacing = `interval '5 minutes'`;

// `placed_at` is the start of the placing transaction; `position` is drawn during it. Times therefore bound positions, and a list
// of last year starts there instead of skipping everything that came later.
const fromPosition = `(SELECT position FROM orders WHERE placed_at < $::timestamptz - ${longestPlacing} ORDER BY placed_at DESC LIMIT 1)`;
const beforePosition = `(SELECT position FROM orders WHERE placed_at >= $::timestamptz + ${longestPlacing} ORDER BY placed_at LIMIT 1)`;

/**
 * Lists orders newest first, one more than the page holds. Reads each status from an index in list order, only as far as the page
 * needs. Rejected: one scan of the owner's orders with a status filter, which read all 200,000 orders of an owner who had none
 * placed.
 */
export function listOrders(
  db: Reader,
  filter: OrderFilter,
  { before, limit }: PageBounds,
): Promise<(OrderState & { position: number })[]> {
  const { ownerId, plantId, placedFrom, placedBefore, status = orderStatuses } = filter;
  const values: unknown[] = [status, before, limit + 1];
  const conditions: string[] = [];
  const bounds: string[] = [];
  const names: string[] = [];
  // `$` in `sql` stands for the parameter that holds `value`.
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
               SELECT ${orderColumns}, position FROM orders WHERE ${where} ORDER BY position DESC LIMIT $3
             ) AS listed ORDER BY position DESC LIMIT $3`,
    },
    values,
  );
}

// Locks and clocks

const lockOrdersById: Statement = {
  name: 'lock-orders',
  text: `SELECT ${orderColumns} FROM orders WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE`,
};

/** Locks orders by ascending id, as every transaction that waits for them does. Omits orders that do not exist. */
const lockOrders = (tx: Transaction, orderIds: readonly number[]): Promise<OrderState[]> => tx.query(lockOrdersById, [orderIds]);

export async function lockOrder(tx: Transaction, orderId: number): Promise<OrderState | undefined> {
  const [order] = await lockOrders(tx, [orderId]);
  return order;
}

/** Orders and their plants' stock, locked until the transaction ends. */
export interface LockedOrders {
  /** By id; without orders that do not exist. */
  readonly orders: Map<number, OrderState>;
  readonly stock: readonly StockState[];
  /** The database's clock, read after the locks were taken. */
  readonly at: Date;
}

/** Takes all locks in one round trip: orders, then stock, as every transaction does. */
export async function lockOrdersAndStock(tx: Transaction, orderIds: readonly number[]): Promise<LockedOrders> {
  const [orders, stock, at, traceparents] = await Promise.all([
    lockOrders(tx, orderIds),
    lockStockOfOrders(tx, orderIds),
    readClock(tx),
    tracing ? findTraceparents(tx, orderIds) : [],
  ]);
  // Links this change's trace to the traces of the orders' previous steps.
  tracing?.causedBy(traceparents);
  return { orders: new Map(orders.map((order) => [order.id, order])), stock, at };
}

const selectTraceparents: Statement = {
  name: 'find-causes-of-orders',
  text: `SELECT t.traceparent FROM orders o JOIN order_transitions t ON t.order_id = o.id AND t.order_version = o.version
         WHERE o.id = ANY($1) AND t.traceparent IS NOT NULL`,
};

/** Returns the trace contexts of the orders' last steps, where those were traced. */
async function findTraceparents(db: Reader, orderIds: readonly number[]): Promise<string[]> {
  const rows = await db.query<{ traceparent: string }>(selectTraceparents, [orderIds]);
  return rows.map((row) => row.traceparent);
}

/**
 * Returns the start of the transaction, which is `now()` in all its statements: the time before its lock waits. New orders may use it,
 * unlike `readClock`'s callers: an order has no step before its placing that could be later.
 */
export async function transactionStart(tx: Transaction): Promise<Date> {
  return onlyRow(await tx.query<{ at: Date }>({ name: 'start-of-transaction', text: 'SELECT now() AS at' })).at;
}

/**
 * Reads the database's clock. Call it after taking the locks: `now()` is the start of the transaction, which may be earlier than
 * a transition that a lock waited for.
 */
export async function readClock(tx: Transaction): Promise<Date> {
  return onlyRow(await tx.query<{ at: Date }>({ name: 'clock', text: 'SELECT clock_timestamp() AS at' })).at;
}

// Ids

/** The increment of the sequence `order_ids`: one value reserves this many ids. */
const idBlock = 1_000;

/**
 * Takes advisory locks on ids that clients chose, in ascending order, until the transaction ends.
 * Row locks cannot protect an id before its row exists.
 * @returns the ids that existing orders have
 */
export async function claimOrderIds(tx: Transaction, orderIds: readonly number[]): Promise<Set<number>> {
  if (orderIds.length === 0) return new Set();
  tx.send(
    { name: 'claim-order-ids', text: 'SELECT pg_advisory_xact_lock(id) FROM unnest($1::bigint[]) AS id ORDER BY id' },
    [[...orderIds].sort((a, b) => a - b)],
  );
  // A separate statement: the snapshot of the one above is older than its lock waits.
  return findTakenIds(tx, orderIds);
}

/** Returns those of the ids that existing orders have. */
export async function findTakenIds(db: Reader, orderIds: readonly number[]): Promise<Set<number>> {
  const rows = await db.query<{ id: number }>(
    { name: 'taken-order-ids', text: 'SELECT id FROM orders WHERE id = ANY($1)' },
    [orderIds],
  );
  return new Set(rows.map((row) => row.id));
}

// A scalar subquery is one index look-up per id. Postgres may turn NOT EXISTS into a join that reads the whole table.
const drawBlocks = `
  WITH drawn AS MATERIALIZED (SELECT nextval('order_ids') AS first FROM generate_series(1, $1))
  SELECT id FROM drawn CROSS JOIN LATERAL generate_series(first, first + ${idBlock - 1}) AS block (id)
  WHERE (SELECT true FROM orders WHERE orders.id = block.id) IS NULL ORDER BY id`;

/** Draws at least `count` ids, ascending, that no other process draws and that no order has yet. */
export function drawOrderIds(db: Reader, count: number): Promise<number[]> {
  return drawFreeIds({ count, blockSize: idBlock }, async (blocks) =>
    (await db.query<{ id: number }>(drawBlocks, [blocks])).map((row) => row.id),
  );
}

/**
 * Locks drawn ids as `claimOrderIds` locks chosen ones, so that no client can take them before the transaction ends.
 * Replaces ids that are taken. Never waits: an id that another transaction has locked counts as taken.
 * @param except ids that this transaction has claimed
 * @returns as many locked ids as were drawn
 */
export async function lockDrawnIds(tx: Transaction, drawn: readonly number[], except: ReadonlySet<number>): Promise<number[]> {
  const locked = await tryLockIds(tx, drawn);
  while (locked.length < drawn.length) {
    const others = (await drawOrderIds(tx, drawn.length)).filter((id) => !except.has(id));
    locked.push(...(await tryLockIds(tx, others.slice(0, drawn.length - locked.length))));
  }
  return locked;
}

async function tryLockIds(tx: Transaction, orderIds: readonly number[]): Promise<number[]> {
  const rows = await tx.query<{ id: number }>(
    'SELECT id FROM unnest($1::bigint[]) AS id WHERE pg_try_advisory_xact_lock(id)',
    [orderIds],
  );
  const locked = rows.map((row) => row.id);
  // A separate statement: the snapshot of the one above is older than its locks.
  const taken = await findTakenIds(tx, locked);
  return locked.filter((id) => !taken.has(id));
}

// Writing steps, with their timeline, events and units

/**
 * A step with its request's trace context, which the timeline stores. Absent: the active span's is stored, if there is one; for a new
 * order none, since the active span is its batch's.
 */
export type Traced<S extends Step = Step> = S & { readonly traceparent?: string | undefined };

const traceparentOf = ({ traceparent }: Traced): string | null => ifSampled(traceparent ?? tracing?.active?.traceparent);

/** An event as a row of `order_transitions` stores it. */
interface StoredEvent {
  readonly eventId: string;
  /** JSON, serialised once: every client gets these bytes. */
  readonly body: string;
}

const randomBytesPerId = 16;

const toStoredEvent = (event: OrderEvent, random: Uint8Array = randomBytes(randomBytesPerId)): StoredEvent => ({
  eventId: uuidv7({ random }),
  body: JSON.stringify(event),
});

/** The columns of a step without an event. */
const noEvent = { eventId: null, body: null };

function withStoredEvents<S extends { readonly event: OrderEvent }>(steps: readonly S[]): (S & StoredEvent)[] {
  // All at once: a call of the generator for each id would cost more than the rest of the event.
  const random = randomBytes(randomBytesPerId * steps.length);
  return steps.map((step, n) => ({ ...step, ...toStoredEvent(step.event, random.subarray(randomBytesPerId * n, randomBytesPerId * (n + 1))) }));
}

// One statement writes everything. Modifying CTEs run in no defined order, which is safe here: the stock is locked already, and `numbers`
// locks the feed's head itself, without waiting for it (SKIP LOCKED).
// It repeats what `place` decides for every order: status, version, actor, reason, due time and units. Change both together;
// place-batch.int-spec.ts compares them.
const writePlaced: Statement = {
  name: 'write-placed-orders',
  text: `
    WITH placed AS (
      SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $4::timestamptz[], $5::uuid[], $8::uuid[], $9::text[], $10::text[])
        WITH ORDINALITY AS t (id, plant_id, quantity, ship_date, owner_id, event_id, body, traceparent, n)
    ), numbers AS (${assignNumbers('cardinality($1)')}
    ), new_orders AS (
      INSERT INTO orders (id, plant_id, quantity, ship_date, status, owner_id, due_at, due_move)
      SELECT id, plant_id, quantity, ship_date, 'placed', owner_id, now() + $6 * interval '1 millisecond', $7 FROM placed
    ), timeline AS (
      INSERT INTO order_transitions (order_id, order_version, new_status, at, actor, reason, owner_id, event_id, body, traceparent, feed_seq)
      SELECT id, 1, 'placed', now(), owner_id, 'placed', owner_id, event_id, body, traceparent, numbers.head - cardinality($1) + n
      FROM placed LEFT JOIN numbers ON true
    ), inventory AS (
      INSERT INTO inventory_deltas (available, pending, sold)
      SELECT -sum(quantity), sum(quantity), 0 FROM placed
    ), reserved AS (
      SELECT plant_id, sum(quantity) AS units FROM placed GROUP BY plant_id
    ), stock_left AS (
      UPDATE stock SET free = free - units, reserved = stock.reserved + units, version = version + 1
      FROM reserved WHERE stock.plant_id = reserved.plant_id
    )
    SELECT epoch, head FROM numbers`,
};

/**
 * Finds the last event before those that this transaction numbers. A separate statement: the snapshot of `write-placed-orders` may
 * be older than the feed's head that it locked.
 */
const findEventBefore: Statement = {
  name: 'find-event-before-placed-orders',
  text: 'SELECT event_id AS id FROM order_transitions WHERE feed_seq = (SELECT head FROM feed_head) - $1::bigint',
};

/**
 * Writes new orders, at least one, with their timeline, events, reserved units and the inventory delta. All plants must be listed
 * `available`.
 * @returns a function to call after the commit: it returns the numbered events to announce; undefined: they are numbered later,
 * because another transaction held the feed's head, or after a failover
 */
export function writePlacedOrders(
  tx: Transaction,
  steps: readonly Traced<Placement>[],
  due: DueAfterPlacing,
): () => FeedNudge | undefined {
  const placed = withStoredEvents(steps);
  const numbers = tx.later<FeedHead>(writePlaced, [
    placed.map(({ order }) => order.id),
    placed.map(({ order }) => order.plantId),
    placed.map(({ order }) => order.quantity),
    placed.map(({ order }) => order.shipDate),
    placed.map(({ order }) => order.ownerId),
    due.inMs,
    due.transition,
    placed.map(({ eventId }) => eventId),
    placed.map(({ body }) => body),
    // Without tracing, `unnest` pads the column with nulls.
    tracing ? placed.map(({ traceparent }) => ifSampled(traceparent)) : null,
  ]);
  const previous = tx.later<{ id: string }>(findEventBefore, [placed.length]);
  return () => {
    const [feed] = numbers();
    if (!feed) return undefined;
    const after = feed.head - placed.length;
    const events = placed.map(({ order, eventId, body, traceparent }, n) => {
      const sampled = tracing && ifSampled(traceparent);
      return { seq: after + 1 + n, id: eventId, subject: order.ownerId, body, ...(sampled && { traceparent: sampled }) };
    });
    return { ...feed, after: { seq: after, ...previous()[0] }, events };
  };
}

// `position` is drawn here, after the orders were locked, so it increases with the order's version.
const writeChanges: Statement = {
  name: 'write-status-changes',
  text: `
    WITH changed AS (
      SELECT * FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::uuid[], $7::text[], $8::boolean[],
                           $9::bigint[], $10::text[], $11::text[], $12::text[], $13::uuid[], $14::text[], $15::text[])
        AS t (id, version, previous_status, new_status, owner_id, tracking_number, paid,
              due_in, due_move, actor, reason, event_id, body, traceparent)
    ), timeline AS (
      INSERT INTO order_transitions (order_id, order_version, previous_status, new_status, at, actor, reason, owner_id,
                                     event_id, body, traceparent)
      SELECT id, version, previous_status, new_status, $1, actor, reason, owner_id, event_id, body, traceparent
      FROM changed ORDER BY id
    )
    UPDATE orders SET
      status = changed.new_status,
      version = changed.version,
      tracking_number = changed.tracking_number,
      paid_at = CASE WHEN changed.paid THEN $1 ELSE orders.paid_at END,
      due_at = $1 + changed.due_in * interval '1 millisecond',
      due_move = changed.due_move
    FROM changed WHERE orders.id = changed.id`,
};

/**
 * Writes status changes with their timeline, events, units and the inventory delta.
 * Throws when one order changes its status twice: the one UPDATE would apply only one of the changes.
 */
export function writeStatusChanges(tx: Transaction, { stock, at }: LockedOrders, steps: readonly Traced<StatusChange>[]): void {
  if (steps.length === 0) return;
  if (new Set(steps.map(({ order }) => order.id)).size < steps.length) {
    throw new Error('an order would change its status twice in one transaction');
  }
  const changes = withStoredEvents(steps);
  tx.send(writeChanges, [
    at,
    changes.map(({ order }) => order.id),
    changes.map(({ order }) => order.version),
    changes.map(({ previousStatus }) => previousStatus),
    changes.map(({ order }) => order.status),
    changes.map(({ order }) => order.ownerId),
    changes.map(({ order }) => order.trackingNumber),
    changes.map(({ order }) => order.status === 'approved'),
    changes.map(({ due }) => due?.inMs ?? null),
    changes.map(({ due }) => due?.transition ?? null),
    changes.map(({ actor }) => actor),
    changes.map(({ reason }) => reason),
    changes.map(({ eventId }) => eventId),
    changes.map(({ body }) => body),
    tracing ? changes.map(traceparentOf) : null,
  ]);
  const unitsByPlant = unitsOf(changes);
  moveUnits(tx, unitsByPlant);
  const inventory = stock.map((row) => inventoryOf(row.listing, unitsByPlant.get(row.plantId) ?? noUnits));
  appendInventoryDelta(tx, inventory.reduce(addInventory, noInventory));
}

/** Sums the units by plant. Omits changes that move no units, such as a delivery. */
function unitsOf(changes: readonly StatusChange[]): Map<number, Units> {
  const byPlant = new Map<number, Units>();
  for (const { order, units } of changes) {
    if (units !== noUnits) byPlant.set(order.plantId, addUnits(byPlant.get(order.plantId) ?? noUnits, units));
  }
  return byPlant;
}

const writeAmended: Statement = {
  name: 'write-amendments',
  text: `
    WITH amended AS (
      SELECT * FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::uuid[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[],
                           $11::text[], $12::text[], $13::bigint[], $14::uuid[], $15::text[], $16::text[])
        AS t (id, version, status, owner_id, carrier, tracking_number, refund, actor, reason,
              shipped_by, shipped_as, refund_id, event_id, body, traceparent)
    ), timeline AS (
      INSERT INTO order_transitions (order_id, order_version, new_status, at, actor, reason, owner_id, carrier, tracking_number, refund_id,
                                     event_id, body, traceparent)
      SELECT id, version, status, coalesce($1, clock_timestamp()), actor, reason, owner_id, shipped_by, shipped_as, refund_id,
             event_id, body, traceparent
      FROM amended ORDER BY id, version
    ), latest AS (
      SELECT DISTINCT ON (id) * FROM amended ORDER BY id, version DESC
    )
    UPDATE orders SET
      version = latest.version,
      owner_id = latest.owner_id,
      carrier = latest.carrier,
      tracking_number = latest.tracking_number,
      refund = latest.refund
    FROM latest WHERE orders.id = latest.id`,
};

/**
 * Writes steps that leave the status as it is: transfers, shipments and refunds. An order may have several.
 * @param at the time of the steps; by default the database's clock at the write
 */
export function writeAmendments(tx: Transaction, steps: readonly Traced<Amendment>[], at?: Date): void {
  const amended = steps.map((step) => ({ ...step, ...(step.event ? toStoredEvent(step.event) : noEvent) }));
  tx.send(writeAmended, [
    at ?? null,
    amended.map(({ order }) => order.id),
    amended.map(({ order }) => order.version),
    amended.map(({ order }) => order.status),
    amended.map(({ order }) => order.ownerId),
    amended.map(({ order }) => order.carrier),
    amended.map(({ order }) => order.trackingNumber),
    amended.map(({ order }) => order.refund),
    amended.map(({ actor }) => actor),
    amended.map(({ reason }) => reason),
    amended.map(({ shipment }) => shipment?.carrier ?? null),
    amended.map(({ shipment }) => shipment?.trackingNumber ?? null),
    amended.map(({ refundId }) => refundId ?? null),
    amended.map(({ eventId }) => eventId),
    amended.map(({ body }) => body),
    amended.map(traceparentOf),
  ]);
}
