import { noSubject, type StockEvent } from '@plant-shop/contracts/events';
import type { Inventory } from '@plant-shop/contracts/store';
import type { PageBounds } from '@plant-shop/platform/patterns/paging';
import type { Reader, Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { RowsParameter } from '@plant-shop/platform/postgres/rows';
import { ifSampled, tracing } from '@plant-shop/platform/telemetry/tracing';
import { v7 as uuidv7 } from 'uuid';
import { inventoryOf, type StockState, type Units, type WrittenStock } from './stock.js';

const columns = `plant_id AS "plantId", incarnation, listing, listing_version AS "listingVersion",
  refused_attempt AS "refusedAttempt", low_stock_at AS "lowStockAt", written_off AS "writtenOff", free, reserved, sold, version`;

export async function findStock(db: Reader, plantId: number): Promise<StockState | undefined> {
  const [stock] = await db.query<StockState>({ name: 'find-stock', text: `SELECT ${columns} FROM stock WHERE plant_id = $1` }, [
    plantId,
  ]);
  return stock;
}

const lockByPlant: Statement = {
  name: 'lock-stock',
  text: `SELECT ${columns} FROM stock WHERE plant_id = ANY($1) ORDER BY plant_id FOR NO KEY UPDATE`,
};

/** Locks stock by ascending plant id, as every transaction does. */
export function lockStock(tx: Transaction, plantIds: readonly number[]): Promise<StockState[]> {
  return tx.query<StockState>(lockByPlant, [plantIds]);
}

// Reads `orders` without locking it, which is safe: an order's plant never changes.
const lockByOrder: Statement = {
  name: 'lock-stock-of-orders',
  text: `SELECT ${columns} FROM stock WHERE plant_id IN (SELECT plant_id FROM ONLY orders WHERE id = ANY($1))
         ORDER BY plant_id FOR NO KEY UPDATE`,
};

/** Locks the stock of the orders' plants by ascending plant id. */
export function lockStockOfOrders(tx: Transaction, orderIds: readonly number[]): Promise<StockState[]> {
  return tx.query<StockState>(lockByOrder, [orderIds]);
}

/** Locks a plant's stock. For an unknown plant, inserts a tombstone of incarnation 0 to lock. */
export async function lockOrInsertStock(tx: Transaction, plantId: number): Promise<StockState> {
  return onlyRow(await lockOrInsertStocks(tx, [plantId]));
}

/** `lockOrInsertStock` for several plants, by ascending id. */
export async function lockOrInsertStocks(tx: Transaction, plantIds: readonly number[]): Promise<StockState[]> {
  await tx.execute(
    {
      name: 'make-stocks',
      text: `INSERT INTO stock (plant_id, incarnation, listing, listing_version, free, supplied)
             SELECT id, 0, 'retired', 0, 0, 0 FROM unnest($1::bigint[]) AS id ORDER BY id ON CONFLICT DO NOTHING`,
    },
    [plantIds],
  );
  return lockStock(tx, plantIds);
}

const writtenStocks = new RowsParameter<WrittenStock>(
  ['plant_id', 'bigint', ({ plantId }) => plantId],
  ['incarnation', 'bigint', ({ incarnation }) => incarnation],
  ['listing', 'text', ({ listing }) => listing],
  ['listing_version', 'bigint', ({ listingVersion }) => listingVersion],
  ['free', 'bigint', ({ free }) => free],
  ['low_stock_at', 'bigint', ({ lowStockAt }) => lowStockAt],
  ['uncounted', 'boolean', ({ uncounted }) => uncounted],
);

/**
 * Writes locked rows after a change by staff or the catalog. Changes of `free` count as units supplied or removed.
 * @returns the rows' new versions by plant
 */
export async function writeStocks(tx: Transaction, stocks: readonly WrittenStock[]): Promise<ReadonlyMap<number, number>> {
  if (stocks.length === 0) return new Map();
  const rows = await tx.query<{ plantId: number; version: number }>(
    {
      name: 'write-stocks',
      text: `UPDATE stock SET incarnation = t.incarnation, listing = t.listing, listing_version = t.listing_version, free = t.free,
               low_stock_at = t.low_stock_at,
               uncounted_since = CASE WHEN t.uncounted THEN clock_timestamp() WHEN t.uncounted IS NULL THEN uncounted_since END,
               supplied = t.free + reserved + sold + written_off, version = version + 1
             FROM ${writtenStocks.from()} WHERE stock.plant_id = t.plant_id RETURNING stock.plant_id AS "plantId", version`,
    },
    writtenStocks.values(stocks),
  );
  return new Map(rows.map(({ plantId, version }) => [plantId, version]));
}

const listUncountedStock: Statement = {
  name: 'list-uncounted-stock',
  text: `SELECT plant_id AS "plantId", uncounted_since AS since FROM stock
         WHERE uncounted_since IS NOT NULL AND listing <> 'retired' AND plant_id < $1 ORDER BY plant_id DESC LIMIT $2`,
};

/** Lists plants that nobody has counted, the highest id first, one more than the page holds. */
export function findUncounted(db: Reader, { after, limit }: PageBounds): Promise<{ readonly plantId: number; readonly since: Date }[]> {
  return db.query(listUncountedStock, [after, limit + 1]);
}

export async function recordRefusedAttempt(tx: Transaction, plantId: number, attempt: number): Promise<void> {
  await tx.execute('UPDATE stock SET refused_attempt = greatest(refused_attempt, $2) WHERE plant_id = $1', [plantId, attempt]);
}

/** Moved units by plant. Elements by index: taking such pairs apart costs more of an order's CPU than the rest of the parameter. */
export const movedUnits = new RowsParameter<readonly [plantId: number, moved: Units]>(
  ['plant_id', 'bigint', (row) => row[0]],
  ['free', 'bigint', (row) => row[1].free],
  ['reserved', 'bigint', (row) => row[1].reserved],
  ['sold', 'bigint', (row) => row[1].sold],
);

/**
 * SQL: moves units between free, reserved and sold. CHECK constraints reject a move that would lose or create units.
 * @param first the number of the first parameter of `movedUnits`
 */
export const moveUnitsSql = (first: number): string => `
  UPDATE stock SET free = stock.free + t.free, reserved = stock.reserved + t.reserved, sold = stock.sold + t.sold, version = version + 1
  FROM ${movedUnits.from(first)} WHERE stock.plant_id = t.plant_id`;

/**
 * Returns the event of a change of a plant's free units; undefined if it crosses no threshold. Of several, the strongest.
 * @param before with the threshold that holds now
 * @param free after the change
 */
export function stockEventOf({ plantId, free: before, lowStockAt }: Pick<StockState, 'plantId' | 'free' | 'lowStockAt'>, free: number, at: Date): StockEvent | undefined {
  const event = crossedBy(before, free, lowStockAt);
  return event && { event, timestamp: at.toISOString(), data: { plantId, free, ...(lowStockAt !== null && { lowStockAt }) } };
}

function crossedBy(before: number, free: number, lowStockAt: number | null): StockEvent['event'] | undefined {
  if (free === before) return undefined;
  if (free === 0) return 'stock.out';
  if (before === 0) return 'stock.back';
  return lowStockAt !== null && free <= lowStockAt && before > lowStockAt ? 'stock.low' : undefined;
}

const appendEvents: Statement = {
  name: 'append-stock-events',
  text: `INSERT INTO order_transitions (at, owner_id, event_id, body, traceparent)
         SELECT $1, '${noSubject}', event_id, body, $4 FROM unnest($2::uuid[], $3::text[]) AS t (event_id, body)`,
};

/**
 * Appends the events of changes of free units to the feed's table, in the transaction of the change. The stock must be locked.
 * @param changes stock before the change, with the threshold that holds now, and the free units after it
 * @returns whether there are any
 */
export function appendStockEvents(tx: Transaction, at: Date, changes: readonly { readonly stock: StockState; readonly free: number }[]): boolean {
  const events = changes.flatMap(({ stock, free }) => stockEventOf(stock, free, at) ?? []);
  if (events.length === 0) return false;
  tx.send(appendEvents, [at, events.map(() => uuidv7()), events.map((event) => JSON.stringify(event)), ifSampled(tracing?.active?.traceparent)]);
  return true;
}

const writeOffFree: Statement = {
  name: 'write-off-units',
  text: 'UPDATE stock SET free = free - $2, written_off = written_off + $2, version = version + 1 WHERE plant_id = $1',
};

/** Writes off free units of a plant whose stock is locked. */
export function writeOff(tx: Transaction, { plantId, listing }: StockState, quantity: number): void {
  tx.send(writeOffFree, [plantId, quantity]);
  appendInventoryDelta(tx, inventoryOf(listing, { free: -quantity, reserved: 0, sold: 0 }));
}

const moveUnitsOfPlants: Statement = { name: 'move-units', text: moveUnitsSql(1) };

export function moveUnits(tx: Transaction, moved: ReadonlyMap<number, Units>): void {
  if (moved.size > 0) tx.send(moveUnitsOfPlants, movedUnits.values([...moved]));
}

/** Appends the change of a transaction to the inventory: one row, so concurrent transactions do not wait for each other. */
export function appendInventoryDelta(tx: Transaction, delta: Inventory): void {
  if (delta.available === 0 && delta.pending === 0 && delta.sold === 0) return;
  tx.send(
    { name: 'append-inventory-delta', text: 'INSERT INTO inventory_deltas (available, pending, sold) VALUES ($1, $2, $3)' },
    [delta.available, delta.pending, delta.sold],
  );
}

const readTotals: Statement = {
  name: 'read-inventory',
  text: `
    SELECT (total.available + coalesce(sum(delta.available), 0))::bigint AS available,
           (total.pending + coalesce(sum(delta.pending), 0))::bigint AS pending,
           (total.sold + coalesce(sum(delta.sold), 0))::bigint AS sold
    FROM inventory_total AS total LEFT JOIN inventory_deltas AS delta ON true
    GROUP BY total.only_row, total.available, total.pending, total.sold`,
};

/** Reads the compacted total plus all later deltas, in one snapshot. */
export async function readInventory(db: Reader): Promise<Inventory> {
  return onlyRow(await db.query<Inventory>(readTotals));
}

// A row lock would be a write, which waits for the disk.
const lockCompaction: Statement = {
  name: 'lock-inventory',
  text: `SELECT pg_try_advisory_xact_lock(hashtext('compact inventory')) AS "isMine"`,
};

const compactDeltas: Statement = {
  name: 'fold-inventory',
  text: `
    WITH gone AS (
      DELETE FROM inventory_deltas WHERE id IN (SELECT id FROM inventory_deltas ORDER BY id LIMIT $1)
      RETURNING available, pending, sold
    ), sums AS (
      SELECT count(*) AS folded, coalesce(sum(available), 0) AS available, coalesce(sum(pending), 0) AS pending,
             coalesce(sum(sold), 0) AS sold FROM gone
    ), total AS (
      UPDATE inventory_total AS t SET available = t.available + sums.available, pending = t.pending + sums.pending,
             sold = t.sold + sums.sold FROM sums WHERE sums.folded > 0
    )
    SELECT folded FROM sums`,
};

/**
 * Compacts at most `limit` deltas into the total. Writes nothing without deltas, and while another replica compacts.
 * @returns how many were compacted
 */
export async function compactInventory(tx: Transaction, limit: number): Promise<number> {
  if (!onlyRow(await tx.query<{ isMine: boolean }>(lockCompaction)).isMine) return 0;
  const rows = await tx.query<{ folded: number }>(compactDeltas, [limit]);
  return onlyRow(rows).folded;
}

/** Returns the ids of the first 100 open orders, so that the answer stays small. */
export async function openOrdersOfPlant(tx: Transaction, plantId: number): Promise<number[]> {
  const rows = await tx.query<{ id: number }>(
    `SELECT id FROM orders WHERE plant_id = $1 AND status IN ('placed', 'approved') ORDER BY id LIMIT 100`,
    [plantId],
  );
  return rows.map((row) => row.id);
}
