import { randomBytes } from 'node:crypto';
import type { OrderEvent } from '@plant-shop/contracts/events';
import type { Inventory } from '@plant-shop/contracts/store';
import { assignNumbers, type FeedHead, type FeedMessage } from '@plant-shop/events/feed';
import { readClock, type Reader, type Statement, type Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow, RowsParameter } from '@plant-shop/platform/postgres/rows';
import { ifSampled, tracing } from '@plant-shop/platform/telemetry/tracing';
import { v7 as uuidv7 } from 'uuid';
import { addInventory, addUnits, inventoryOf, noInventory, noUnits, type StockState, type Units } from '../stock/stock.js';
import { appendInventoryDelta, appendStockEvents, lockStockOfOrders, movedUnits, moveUnits, moveUnitsSql } from '../stock/stock.repository.js';
import { takeBack } from './order-archive.js';
import { indexMetadata, jsonOf } from './owner-data.js';
import type { Amendment, OrderState, StatusChange, Step } from './order.js';
import type { Placement, UnpaidOrder } from './placing.js';

export const orderColumns = `id, basket_id AS "basketId", plant_id AS "plantId", quantity, ship_date AS "shipDate", status, owner_id AS "ownerId", version,
  placed_at AS "placedAt", due_at AS "dueAt", due_transition AS "dueTransition", paid_at AS "paidAt", carrier,
  tracking_number AS "trackingNumber", refund, updated_at AS "updatedAt", external_id AS "externalId", metadata, ship_to AS "shipTo"`;

// Reading

const findOrderById: Statement = { name: 'find-order', text: `SELECT ${orderColumns} FROM orders WHERE id = $1` };

export async function findOrder(db: Reader, orderId: number): Promise<OrderState | undefined> {
  const [order] = await db.query<OrderState>(findOrderById, [orderId]);
  return order;
}

const findOrdersByBasket: Statement = { name: 'find-orders-of-basket', text: `SELECT ${orderColumns} FROM orders WHERE basket_id = $1 ORDER BY id` };

/** Finds the orders of a basket, in the order of its lines. */
export const findOrdersOfBasket = (db: Reader, basketId: number): Promise<OrderState[]> => db.query(findOrdersByBasket, [basketId]);

// Locks and clocks

const lockOrdersById: Statement = {
  name: 'lock-orders',
  text: `SELECT ${orderColumns} FROM ONLY orders WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE`,
};

/** Locks orders by ascending id, as every transaction that waits for them does. Omits orders that do not exist. */
const lockOrders = (tx: Transaction, orderIds: readonly number[]): Promise<OrderState[]> => tx.query(lockOrdersById, [orderIds]);

export async function lockOrder(tx: Transaction, orderId: number): Promise<OrderState | undefined> {
  const [order] = await withOldOrders(tx, [orderId], () => lockOrders(tx, [orderId]), (orders) => orders.length);
  return order;
}

/** Locks orders, and once more if some were missing: they may be old, or have moved while the lock was waited for. */
async function withOldOrders<Locked>(tx: Transaction, orderIds: readonly number[], lock: () => Promise<Locked>, count: (locked: Locked) => number): Promise<Locked> {
  const locked = await lock();
  if (count(locked) === orderIds.length) return locked;
  await takeBack(tx, orderIds);
  return lock();
}

/** Orders and their plants' stock, locked until the transaction ends. */
export interface LockedOrders {
  /** By id; without orders that do not exist. */
  readonly orders: Map<number, OrderState>;
  readonly stock: readonly StockState[];
  /** The database's clock, read after the locks were taken. */
  readonly at: Date;
}

/** Takes all locks, in the order that every transaction keeps (README): in one round trip, unless an order is old. Each id may be given once. */
export const lockOrdersAndStock = (tx: Transaction, orderIds: readonly number[]): Promise<LockedOrders> =>
  withOldOrders(tx, orderIds, () => lockAll(tx, orderIds), ({ orders }) => orders.size);

async function lockAll(tx: Transaction, orderIds: readonly number[]): Promise<LockedOrders> {
  const lockedOrders = lockOrders(tx, orderIds);
  const lockedStock = lockStockOfOrders(tx, orderIds);
  const clock = readClock(tx);
  const causes = tracing ? findTraceparents(tx, orderIds) : [];
  const [orders, stock, at, traceparents] = await Promise.all([lockedOrders, lockedStock, clock, causes]);
  // Links this change's trace to the traces of the orders' previous steps.
  tracing?.causedBy(traceparents);
  return { orders: new Map(orders.map((order) => [order.id, order])), stock, at };
}

const selectTraceparents: Statement = {
  name: 'find-causes-of-orders',
  text: `SELECT t.traceparent FROM ONLY orders o JOIN ONLY order_transitions t ON t.order_id = o.id AND t.order_version = o.version
         WHERE o.id = ANY($1) AND t.traceparent IS NOT NULL`,
};

/** Returns the trace contexts of the orders' last steps, where those were traced. */
async function findTraceparents(db: Reader, orderIds: readonly number[]): Promise<string[]> {
  const rows = await db.query<{ traceparent: string }>(selectTraceparents, [orderIds]);
  return rows.map((row) => row.traceparent);
}

/** The times of new orders. */
export interface PlacingTimes {
  /** When they count as placed. */
  readonly at: Date;
  /** The database's clock when the transaction began, from which due times are counted. */
  readonly now: Date;
}

/** Bounds for how long one order that was placed by a wrong clock can hold up the times of those after it. */
const maxAhead = `interval '1 hour'`;

const selectPlacingTimes: Statement = {
  name: 'placing-times',
  text: `SELECT now() AS now, CASE WHEN placed_at >= date_trunc('milliseconds', now()) AND placed_at < now() + ${maxAhead}
           THEN placed_at + interval '1 millisecond' ELSE now() END AS at FROM feed_head`,
};

/**
 * Returns the times of new orders. They count as placed after all committed orders that their own transactions numbered, so that lists
 * show them before those, even if the clock was set back or this transaction waited for its locks. Call it after taking them. After orders of
 * a batch that did not get the feed's head they may count as placed before those: a list read by cursor still shows each order once, but
 * misses one that commits behind what was read.
 * Rejected: looking the newest order up (87 µs on a busy machine).
 */
export async function readPlacingTimes(tx: Transaction): Promise<PlacingTimes> {
  return onlyRow(await tx.query<PlacingTimes>(selectPlacingTimes));
}

const selectUnpaid: Statement = {
  name: 'find-unpaid-orders',
  text: `SELECT owner_id AS "ownerId", unpaid.id, unpaid.quantity FROM unnest($1::uuid[]) AS owner (owner_id) CROSS JOIN LATERAL (
    SELECT id, quantity, placed_at FROM ONLY orders WHERE orders.owner_id = owner.owner_id AND status = 'placed' ORDER BY placed_at DESC, id DESC LIMIT $2
  ) AS unpaid ORDER BY unpaid.placed_at, unpaid.id`,
};

/** Finds the newest `limit` unpaid orders of each customer, oldest first. Call it while the customers are locked (`lockUnpaid`). */
export async function findUnpaid(tx: Transaction, ownerIds: readonly string[], limit: number): Promise<Map<string, UnpaidOrder[]>> {
  const found = new Map<string, UnpaidOrder[]>(ownerIds.map((id) => [id, []]));
  if (ownerIds.length === 0) return found;
  for (const { ownerId, ...order } of await tx.query<UnpaidOrder & { ownerId: string }>(selectUnpaid, [ownerIds, limit])) found.get(ownerId)?.push(order);
  return found;
}

// Writing steps, with their timeline, events and units

/**
 * A step with its request's trace context, which the timeline stores. Absent: the active span's is stored, if there is one; for a new
 * order none, since the active span is its batch's. `clientId`: the OAuth client that acted for the actor.
 */
export type Traced<S extends Step = Step> = S & { readonly traceparent?: string | undefined; readonly clientId?: string | undefined };

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

/** Keeps the latest time of placing in `feed_head`, for `readPlacingTimes`. */
const keepPlacedAt = `placed_at = CASE WHEN placed_at < $4::timestamptz + ${maxAhead} THEN greatest(placed_at, $4::timestamptz) ELSE $4::timestamptz END`;

const placedRows = new RowsParameter<Placement>(
  ['id', 'bigint', ({ order }) => order.id],
  ['basket_id', 'bigint', ({ order }) => order.basketId],
  ['plant_id', 'bigint', ({ order }) => order.plantId],
  ['quantity', 'integer', ({ order }) => order.quantity],
  ['ship_date', 'timestamptz', ({ order }) => order.shipDate?.toISOString()],
  ['owner_id', 'uuid', ({ order }) => order.ownerId],
  ['external_id', 'text', ({ order }) => order.externalId],
  ['metadata', 'jsonb', ({ order }) => jsonOf(order.metadata)],
  ['ship_to', 'jsonb', ({ order }) => jsonOf(order.shipTo)],
);

const placedSteps = new RowsParameter<Traced<Placement> & StoredEvent>(
  ['order_id', 'bigint', ({ order }) => order.id],
  ['plant_id', 'bigint', ({ order }) => order.plantId],
  ['owner_id', 'uuid', ({ order }) => order.ownerId],
  ['client_id', 'text', ({ clientId }) => clientId],
  ['event_id', 'uuid', ({ eventId }) => eventId],
  ['body', 'line', ({ body }) => body],
  ['traceparent', 'text', ({ traceparent }) => ifSampled(traceparent)],
);

// One statement writes everything. Modifying CTEs run in no defined order, which is safe here: the stock is locked already, and `numbers`
// locks the feed's head itself, without waiting for it (SKIP LOCKED).
const writePlaced: Statement = {
  name: 'write-placed-orders',
  text: `
    WITH numbers AS (${assignNumbers('$1::bigint', { also: keepPlacedAt })}
    ), new_orders AS (
      INSERT INTO orders (${placedRows.names}, status, version, placed_at, due_at, due_transition, due_since)
      SELECT ${placedRows.names}, $2::text, $3::bigint, $4::timestamptz, $5::timestamptz, $6::text, now() FROM ${placedRows.from(15)}
    ), timeline AS (
      INSERT INTO order_transitions (${placedSteps.names}, order_version, new_status, at, actor, reason, feed_seq)
      SELECT ${placedSteps.names}, $3, $2, $4, owner_id::text, $7::text, numbers.head - $1::bigint + n
      FROM ${placedSteps.numberedFrom(24)} LEFT JOIN numbers ON true
    ), inventory AS (
      INSERT INTO inventory_deltas (available, pending, sold) VALUES ($8, $9, $10)
    ), reserved AS (${moveUnitsSql(11)})
    SELECT epoch, head FROM numbers`,
};

/**
 * Finds the last event before those that this transaction numbers. A separate statement: the snapshot of the one that numbers may be older
 * than the feed's head that it locked.
 */
const findEventBefore: Statement = {
  name: 'find-event-before-numbered',
  text: 'SELECT event_id AS id FROM ONLY order_transitions WHERE feed_seq = (SELECT head FROM feed_head) - $1::bigint',
};

/** Returns a function to call after the commit: it returns the events that a statement has numbered; undefined if it has numbered none. */
function numberedBy(tx: Transaction, numbers: () => FeedHead[], steps: readonly (Traced & StoredEvent)[]): () => FeedMessage | undefined {
  const previous = tx.later<{ id: string }>(findEventBefore, [steps.length]);
  return () => {
    const [feed] = numbers();
    if (!feed) return undefined;
    const after = feed.head - steps.length;
    const events = steps.map(({ order, eventId, body, traceparent }, n) => {
      const sampled = tracing && ifSampled(traceparent);
      return { seq: after + 1 + n, id: eventId, subject: order.ownerId, body, ...(sampled && { traceparent: sampled }) };
    });
    return { ...feed, after: { seq: after, ...previous()[0] }, events };
  };
}

/**
 * Writes new orders, at least one, with their timeline, events, units and the inventory delta. They were placed at one time under one
 * policy, so `place` has given all of them the same status, version, times and reason.
 * @param stock the locked stock of their plants
 * @returns a function to call after the commit: it returns the numbered events to announce; undefined: they are numbered later,
 * because another transaction held the feed's head, or after a failover. Also undefined with events of stock, which are numbered later:
 * their announcement makes followers read the others, too, no later than if they had collected these (`mayWait`)
 */
export function writePlacedOrders(
  tx: Transaction,
  stock: readonly StockState[],
  steps: readonly [Traced<Placement>, ...Traced<Placement>[]],
): () => FeedMessage | undefined {
  const [{ order, reason }] = steps;
  const placed = withStoredEvents(steps);
  const units = unitsOf(steps);
  const { available, pending, sold } = inventoryDeltaOf(stock, units);
  const numbers = tx.later<FeedHead>(writePlaced, [
    placed.length, order.status, order.version, order.placedAt, order.dueAt, order.dueTransition, reason,
    available, pending, sold,
    ...movedUnits.values([...units]),
    ...placedRows.values(placed), ...placedSteps.values(placed),
  ]);
  const numbered = numberedBy(tx, numbers, placed);
  indexMetadata(tx, steps.map((one) => one.order));
  const hasStockEvents = appendStockEventsOf(tx, order.placedAt, stock, units);
  return () => (hasStockEvents ? undefined : numbered());
}

const changedRows = new RowsParameter<Traced<StatusChange> & StoredEvent>(
  ['id', 'bigint', ({ order }) => order.id],
  ['plant_id', 'bigint', ({ order }) => order.plantId],
  ['version', 'bigint', ({ order }) => order.version],
  ['previous_status', 'text', ({ previousStatus }) => previousStatus],
  ['status', 'text', ({ order }) => order.status],
  ['owner_id', 'uuid', ({ order }) => order.ownerId],
  ['tracking_number', 'text', ({ order }) => order.trackingNumber],
  ['shipped', 'boolean', ({ order }) => (order.carrier === null ? undefined : true)],
  ['refund', 'text', ({ order }) => order.refund],
  ['paid_at', 'timestamptz', ({ order }) => order.paidAt?.toISOString()],
  ['due_in', 'bigint', ({ due }) => due?.inMs],
  ['due_transition', 'text', ({ due }) => due?.transition],
  ['actor', 'text', ({ actor }) => actor],
  ['client_id', 'text', ({ clientId }) => clientId],
  ['reason', 'text', ({ reason }) => reason],
  ['event_id', 'uuid', ({ eventId }) => eventId],
  ['body', 'line', ({ body }) => body],
  ['traceparent', 'text', ({ traceparent }) => traceparent],
);

/** SQL: no event of the changed orders waits for its number. */
const areNumbered = `NOT EXISTS (
  SELECT 1 FROM changed JOIN ONLY order_transitions AS earlier ON earlier.order_id = changed.id WHERE earlier.event_id IS NOT NULL AND earlier.feed_seq IS NULL
)`;

// `position` is drawn here, after the orders were locked, so it increases with the order's version.
const writeChanges: Statement = {
  name: 'write-status-changes',
  text: `
    WITH changed AS (
      SELECT * FROM ${changedRows.numberedFrom(4)}
    ), numbers AS (${assignNumbers('$2::bigint', { provided: `$3::boolean AND ${areNumbered}` })}
    ), timeline AS (
      INSERT INTO order_transitions (order_id, plant_id, order_version, previous_status, new_status, at, actor, client_id, reason, owner_id,
                                     event_id, body, traceparent, shipped, refund, feed_seq)
      SELECT id, plant_id, version, previous_status, status, $1::timestamptz, actor, client_id, reason, owner_id, event_id, body, traceparent, shipped, refund,
             numbers.head - $2::bigint + n
      FROM changed LEFT JOIN numbers ON true ORDER BY id
    ), updated AS (
      UPDATE ONLY orders SET
        status = changed.status,
        version = changed.version,
        tracking_number = changed.tracking_number,
        paid_at = changed.paid_at,
        updated_at = $1,
        due_at = $1 + changed.due_in * interval '1 millisecond',
        due_transition = changed.due_transition,
        due_since = CASE WHEN changed.due_in IS NOT NULL THEN $1 END
      FROM changed WHERE orders.id = changed.id
    )
    SELECT epoch, head FROM numbers`,
};

/**
 * Writes status changes with their timeline, events, units and the inventory delta.
 * @param options `keepsUnits`: the caller writes off the units that become free, so no event of stock follows; `mayNumber`: the caller
 * announces the events that are numbered here
 * @returns a function to call after the commit, like that of `writePlacedOrders`
 * @throws Error when one order changes its status twice: the one UPDATE would apply only one of the changes.
 */
export function writeStatusChanges(
  tx: Transaction,
  { stock, at }: LockedOrders,
  steps: readonly Traced<StatusChange>[],
  { keepsUnits = false, mayNumber = false }: { readonly keepsUnits?: boolean; readonly mayNumber?: boolean } = {},
): () => FeedMessage | undefined {
  if (steps.length === 0) return () => undefined;
  if (new Set(steps.map(({ order }) => order.id)).size < steps.length) {
    throw new Error('an order would change its status twice in one transaction');
  }
  const changes = withStoredEvents(steps.map((step) => ({ ...step, traceparent: traceparentOf(step) ?? undefined })));
  const numbers = tx.later<FeedHead>(writeChanges, [at, changes.length, mayNumber, ...changedRows.values(changes)]);
  const numbered = mayNumber ? numberedBy(tx, numbers, changes) : () => undefined;
  const units = unitsOf(steps);
  moveUnits(tx, units);
  appendInventoryDelta(tx, inventoryDeltaOf(stock, units));
  const hasStockEvents = !keepsUnits && appendStockEventsOf(tx, at, stock, units);
  return () => (hasStockEvents ? undefined : numbered());
}

const appendStockEventsOf = (tx: Transaction, at: Date, stock: readonly StockState[], moved: ReadonlyMap<number, Units>): boolean =>
  appendStockEvents(tx, at, stock.map((row) => ({ stock: row, free: row.free + (moved.get(row.plantId)?.free ?? 0) })));

/** Sums the units by plant. Omits steps that move no units, such as a delivery. */
function unitsOf(steps: readonly (StatusChange | Placement)[]): Map<number, Units> {
  const byPlant = new Map<number, Units>();
  for (const { order, units } of steps) {
    if (units !== noUnits) byPlant.set(order.plantId, addUnits(byPlant.get(order.plantId) ?? noUnits, units));
  }
  return byPlant;
}

/** Returns what the inventory gains when units of these plants move. */
const inventoryDeltaOf = (stock: readonly StockState[], moved: ReadonlyMap<number, Units>): Inventory =>
  stock.map((row) => inventoryOf(row.listing, moved.get(row.plantId) ?? noUnits)).reduce(addInventory, noInventory);

const amendedRows = new RowsParameter<Traced<Amendment> & (StoredEvent | typeof noEvent)>(
  ['id', 'bigint', ({ order }) => order.id],
  ['plant_id', 'bigint', ({ order }) => order.plantId],
  ['version', 'bigint', ({ order }) => order.version],
  ['status', 'text', ({ order }) => order.status],
  ['owner_id', 'uuid', ({ order }) => order.ownerId],
  ['carrier', 'text', ({ order }) => order.carrier],
  ['tracking_number', 'text', ({ order }) => order.trackingNumber],
  ['refund', 'text', ({ order }) => order.refund],
  ['due_at', 'timestamptz', ({ order }) => (order.status === 'placed' ? order.dueAt?.toISOString() : undefined)],
  ['due_transition', 'text', ({ order }) => (order.status === 'placed' ? order.dueTransition : undefined)],
  ['actor', 'text', ({ actor }) => actor],
  ['client_id', 'text', ({ clientId }) => clientId],
  ['reason', 'text', ({ reason }) => reason],
  ['shipped_by', 'text', ({ shipment }) => shipment?.carrier],
  ['shipped_as', 'text', ({ shipment }) => shipment?.trackingNumber],
  ['refund_id', 'bigint', ({ refundId }) => refundId],
  ['event_id', 'uuid', ({ eventId }) => eventId],
  ['body', 'text', ({ body }) => body],
  ['traceparent', 'text', traceparentOf],
);

const writeAmended: Statement = {
  name: 'write-amendments',
  text: `
    WITH amended AS (
      SELECT * FROM ${amendedRows.from(2)}
    ), timeline AS (
      INSERT INTO order_transitions (order_id, plant_id, order_version, new_status, at, actor, client_id, reason, owner_id, carrier, tracking_number,
                                     refund_id, event_id, body, traceparent, shipped, refund)
      SELECT id, plant_id, version, status, $1::timestamptz, actor, client_id, reason, owner_id, shipped_by, shipped_as, refund_id,
             event_id, body, traceparent, CASE WHEN carrier IS NOT NULL THEN true END, refund
      FROM amended ORDER BY id, version
    ), latest AS (
      SELECT DISTINCT ON (id) * FROM amended ORDER BY id, version DESC
    )
    UPDATE ONLY orders SET
      version = latest.version,
      owner_id = latest.owner_id,
      carrier = latest.carrier,
      tracking_number = latest.tracking_number,
      refund = latest.refund,
      updated_at = $1,
      due_at = coalesce(latest.due_at, orders.due_at),
      due_transition = coalesce(latest.due_transition, orders.due_transition)
    FROM latest WHERE orders.id = latest.id`,
};

/** Writes steps that leave the status as it is: transfers, shipments, failed payments and refunds. An order may have several. */
export function writeAmendments(tx: Transaction, steps: readonly Traced<Amendment>[], at: Date): void {
  if (steps.length === 0) return;
  const amended = steps.map((step) => ({ ...step, ...(step.event ? toStoredEvent(step.event) : noEvent) }));
  tx.send(writeAmended, [at, ...amendedRows.values(amended)]);
}
