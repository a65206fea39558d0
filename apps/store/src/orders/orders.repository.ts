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
import type { DueAfterPlacing, OrderState, Placed, StatusChange, Step, TimelineRow } from './order.js';

type Reader = Pick<Transaction, 'query'>;

/** A step, with the span of the request that asks for it when that is traced; absent: the span that runs now, if any. */
export type Traced<S extends Step = Step> = S & { readonly traceparent?: string | undefined };

const spanOf = ({ traceparent }: Traced): string | null => ifSampled(traceparent ?? tracing?.active?.traceparent);

/** An event as a row of the timeline holds it. */
interface WrittenEvent {
  readonly eventId: string;
  /** The bytes that every client gets, serialised once. */
  readonly body: string;
}

const written = (event: OrderEvent): WrittenEvent => ({ eventId: uuidv7(), body: JSON.stringify(event) });

const withWrittenEvents = <S extends { readonly event: OrderEvent }>(steps: readonly S[]): (S & WrittenEvent)[] =>
  steps.map((step) => ({ ...step, ...written(step.event) }));

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
 * Writes a step that changes no status: a transfer or a shipment.
 * @param at undefined: the time of the write
 */
export async function amendOrder(tx: Transaction, { order, actor, reason, event }: Step, at?: Date): Promise<void> {
  const { eventId, body } = event ? written(event) : { eventId: null, body: null };
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

/** When the transaction began: `now()` for all of its statements. */
export async function startOf(tx: Transaction): Promise<Date> {
  return onlyRow(await tx.query<{ at: Date }>({ name: 'start-of-transaction', text: 'SELECT now() AS at' })).at;
}

/**
 * The database's clock, read after everything was locked: `now()` is the start of the transaction, which may lie before
 * the transition that the lock waited for.
 */
export async function clock(tx: Transaction): Promise<Date> {
  return onlyRow(await tx.query<{ at: Date }>({ name: 'clock', text: 'SELECT clock_timestamp() AS at' })).at;
}

const lockOrdersById: Statement = {
  name: 'lock-orders',
  text: `SELECT ${columns} FROM orders WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE`,
};

/** Locks in ascending order of ids, as every transaction does. Orders that do not exist are left out. */
const lockOrders = (tx: Transaction, orderIds: readonly number[]): Promise<OrderState[]> => tx.query(lockOrdersById, [orderIds]);

export async function lockOrder(tx: Transaction, orderId: number): Promise<OrderState | undefined> {
  const [order] = await lockOrders(tx, [orderId]);
  return order;
}

/** Orders and the stock of their plants, locked until the transaction ends. */
export interface LockedOrders {
  /** By id; those that do not exist are left out. */
  readonly orders: Map<number, OrderState>;
  readonly stock: readonly StockState[];
  /** The database's clock after the locks. */
  readonly at: Date;
}

/** Takes all locks in one round trip, in the order in which every transaction takes them. */
export async function lockOrdersAndStock(tx: Transaction, orderIds: readonly number[]): Promise<LockedOrders> {
  const [orders, stock, at, causes] = await Promise.all([
    lockOrders(tx, orderIds),
    lockStockOfOrders(tx, orderIds),
    clock(tx),
    tracing ? causesOf(tx, orderIds) : [],
  ]);
  // Links the trace of this change to those of the orders' last steps.
  tracing?.causedBy(causes);
  return { orders: new Map(orders.map((order) => [order.id, order])), stock, at };
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

/** The last event before those that this transaction has numbered. A statement of its own, since it sees what the lock waited for. */
const findEventBefore: Statement = {
  name: 'find-event-before-placed-orders',
  text: 'SELECT event_id AS id FROM order_transitions WHERE feed_seq = (SELECT head FROM feed_head) - $1::bigint',
};

/**
 * Writes new orders, their timeline and events, their units and the inventory's delta, for plants that are listed available.
 * @returns what says after the commit which numbers the events got; undefined when they wait for theirs
 */
export function writePlacedOrders(
  tx: Transaction,
  steps: readonly Traced<Placed>[],
  due: DueAfterPlacing,
): () => FeedNudge | undefined {
  if (steps.length === 0) return () => undefined;
  const placed = withWrittenEvents(steps);
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
    // Null pads the others' columns: while nobody traces, a batch writes no list of nothing.
    tracing ? placed.map(({ traceparent }) => ifSampled(traceparent)) : null,
  ]);
  const previous = tx.later<{ id: string }>(findEventBefore, [placed.length]);
  return () => {
    const [given] = numbers();
    if (!given) return undefined;
    const after = given.head - placed.length;
    const events = placed.map(({ order, eventId, body, traceparent }, n) => {
      const sampled = tracing && ifSampled(traceparent);
      return { seq: after + 1 + n, id: eventId, subject: order.ownerId, body, ...(sampled && { traceparent: sampled }) };
    });
    return { ...given, after: { seq: after, ...previous()[0] }, events };
  };
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

/** Writes orders, timeline, events, units and the inventory's delta. Each order may change its status once in a transaction. */
export function writeStatusChanges(tx: Transaction, { stock, at }: LockedOrders, steps: readonly Traced<StatusChange>[]): void {
  if (steps.length === 0) return;
  if (new Set(steps.map(({ order }) => order.id)).size < steps.length) throw new Error('an order would move twice in one transaction');
  const changes = withWrittenEvents(steps);
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
    tracing ? changes.map(spanOf) : null,
  ]);
  const unitsByPlant = unitsOf(changes);
  moveUnits(tx, unitsByPlant);
  const inventory = stock.map((row) => inventoryOf(row.listing, unitsByPlant.get(row.plantId) ?? noUnits));
  appendInventoryDelta(tx, inventory.reduce(addInventory, noInventory));
}

/** Plants whose units stay where they are, as on delivery, are left out. */
function unitsOf(changes: readonly StatusChange[]): Map<number, Units> {
  const byPlant = new Map<number, Units>();
  for (const { order, units } of changes) {
    if (units !== noUnits) byPlant.set(order.plantId, addUnits(byPlant.get(order.plantId) ?? noUnits, units));
  }
  return byPlant;
}

const writeOwed: Statement = {
  name: 'write-owed-back',
  text: `
    WITH owed AS (
      SELECT * FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::uuid[], $6::bigint[], $7::text[], $8::text[], $9::uuid[], $10::text[])
        AS t (id, version, status, owner_id, refund_id, actor, traceparent, event_id, body)
    ), timeline AS (
      INSERT INTO order_transitions (order_id, order_version, new_status, at, actor, reason, owner_id, refund_id, traceparent,
                                     event_id, body)
      SELECT id, version, status, $1, actor, 'refund due', owner_id, refund_id, traceparent, event_id, body
      FROM owed ORDER BY id, version
    ), latest AS (
      SELECT id, max(version) AS version FROM owed GROUP BY id
    )
    UPDATE orders SET version = latest.version, refund = 'due' FROM latest WHERE orders.id = latest.id`,
};

/** Writes that payments are owed back; the status of their orders stays. */
export function writeRefundsDue(
  tx: Transaction,
  at: Date,
  steps: readonly Traced<Step & { readonly refundId: number; readonly event: OrderEvent }>[],
): void {
  const owed = withWrittenEvents(steps);
  tx.send(writeOwed, [
    at,
    owed.map(({ order }) => order.id),
    owed.map(({ order }) => order.version),
    owed.map(({ order }) => order.status),
    owed.map(({ order }) => order.ownerId),
    owed.map(({ refundId }) => refundId),
    owed.map(({ actor }) => actor),
    owed.map(spanOf),
    owed.map(({ eventId }) => eventId),
    owed.map(({ body }) => body),
  ]);
}
