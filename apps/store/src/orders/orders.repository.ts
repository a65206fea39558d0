import { randomBytes } from 'node:crypto';
import type { OrderEvent } from '@plant-shop/contracts/events';
import type { FeedHead, FeedNudge } from '@plant-shop/events/event';
import { assignNumbers } from '@plant-shop/events/feed';
import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { ifSampled, tracing } from '@plant-shop/platform/telemetry/tracing';
import { v7 as uuidv7 } from 'uuid';
import { addInventory, addUnits, inventoryOf, noInventory, noUnits, type StockState, type Units } from '../stock/stock.js';
import { appendInventoryDelta, lockStockOfOrders, moveUnits } from '../stock/stock.repository.js';
import type { DueAfterPlacing, OrderState, Placement, StatusChange, Step } from './order.js';
import type { TimelineRow } from './order.views.js';

type Reader = Pick<Transaction, 'query'>;

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

function withStoredEvents<S extends { readonly event: OrderEvent }>(steps: readonly S[]): (S & StoredEvent)[] {
  // All at once: a call of the generator for each id would cost more than the rest of the event.
  const random = randomBytes(randomBytesPerId * steps.length);
  return steps.map((step, n) => ({ ...step, ...toStoredEvent(step.event, random.subarray(randomBytesPerId * n, randomBytesPerId * (n + 1))) }));
}

export const orderColumns = `id, plant_id AS "plantId", quantity, ship_date AS "shipDate", status, owner_id AS "ownerId", version,
  placed_at AS "placedAt", due_at AS "dueAt", due_move AS "dueMove", paid_at AS "paidAt", carrier,
  tracking_number AS "trackingNumber", refund`;

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

/**
 * Writes a step that leaves the status as it is: a transfer or a shipment.
 * @param at the time of the step; by default the database's clock at the write
 */
export async function amendOrder(tx: Transaction, { order, actor, reason, event }: Step, at?: Date): Promise<void> {
  const { eventId, body } = event ? toStoredEvent(event) : { eventId: null, body: null };
  await tx.execute(
    `WITH timeline AS (
       INSERT INTO order_transitions (order_id, order_version, new_status, at, actor, reason, owner_id, traceparent, carrier, tracking_number,
                                      event_id, body)
       SELECT $1, $2, $3, coalesce($10, clock_timestamp()), $4, $5, $6, $9, shipment.carrier, shipment.tracking_number, $11, $12
       FROM (SELECT CASE WHEN $5 = 'shipped' THEN $7 END, CASE WHEN $5 = 'shipped' THEN $8 END) AS shipment (carrier, tracking_number)
     )
     UPDATE orders SET version = $2, owner_id = $6, carrier = $7, tracking_number = $8 WHERE id = $1`,
    [
      order.id,
      order.version,
      order.status,
      actor,
      reason,
      order.ownerId,
      order.carrier,
      order.trackingNumber,
      ifSampled(tracing?.active?.traceparent),
      at ?? null,
      eventId,
      body,
    ],
  );
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
    due.move,
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

// `position` is drawn here, after the orders were locked, so it increases with the order's version.
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
      due_at = $1 + moved.due_in * interval '1 millisecond',
      due_move = moved.due_move
    FROM moved WHERE orders.id = moved.id`,
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
  tx.send(writeMoved, [
    at,
    changes.map(({ order }) => order.id),
    changes.map(({ order }) => order.version),
    changes.map(({ previousStatus }) => previousStatus),
    changes.map(({ order }) => order.status),
    changes.map(({ order }) => order.ownerId),
    changes.map(({ order }) => order.trackingNumber),
    changes.map(({ order }) => order.status === 'approved'),
    changes.map(({ due }) => due?.inMs ?? null),
    changes.map(({ due }) => due?.move ?? null),
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

const writeRefundDue: Statement = {
  name: 'write-refunds-due',
  text: `
    WITH due AS (
      SELECT * FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::uuid[], $6::bigint[], $7::text[], $8::text[], $9::uuid[], $10::text[])
        AS t (id, version, status, owner_id, refund_id, actor, traceparent, event_id, body)
    ), timeline AS (
      INSERT INTO order_transitions (order_id, order_version, new_status, at, actor, reason, owner_id, refund_id, traceparent,
                                     event_id, body)
      SELECT id, version, status, $1, actor, 'refund due', owner_id, refund_id, traceparent, event_id, body
      FROM due ORDER BY id, version
    ), latest AS (
      SELECT id, max(version) AS version FROM due GROUP BY id
    )
    UPDATE orders SET version = latest.version, refund = 'due' FROM latest WHERE orders.id = latest.id`,
};

/** Writes that payments became due for refund. The orders keep their status. */
export function writeRefundsDue(
  tx: Transaction,
  at: Date,
  steps: readonly Traced<Step & { readonly refundId: number; readonly event: OrderEvent }>[],
): void {
  const due = withStoredEvents(steps);
  tx.send(writeRefundDue, [
    at,
    due.map(({ order }) => order.id),
    due.map(({ order }) => order.version),
    due.map(({ order }) => order.status),
    due.map(({ order }) => order.ownerId),
    due.map(({ refundId }) => refundId),
    due.map(({ actor }) => actor),
    due.map(traceparentOf),
    due.map(({ eventId }) => eventId),
    due.map(({ body }) => body),
  ]);
}
