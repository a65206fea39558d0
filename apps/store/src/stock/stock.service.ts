import { Inject, Injectable } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import {
  type AdjustStock,
  type Inventory,
  type ListStock,
  type ListUncounted,
  type OpenOrders,
  type OpenStock,
  type RetirePlant,
  type SetStock,
  type Stock,
  store,
  type UncountedStock,
} from '@plant-shop/contracts/store';
import { actorOf, audit } from '@plant-shop/platform/patterns/audit-log';
import { CoalescedRead } from '@plant-shop/platform/patterns/coalesced-read';
import type { Logger } from '@plant-shop/platform/logging';
import { invalidInput } from '@plant-shop/platform/errors';
import { runOnce } from '@plant-shop/platform/patterns/idempotent-results';
import { byNumber, Paging } from '@plant-shop/platform/patterns/paging';
import { Database, readClock, type Transaction } from '@plant-shop/platform/postgres/database';
import { type Page, type Replayed, Versioned } from '@plant-shop/platform/rpc/answer';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { assertNotAbandoned } from '@plant-shop/platform/patterns/saga/intent-table';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { STORE_OPTIONS, type StoreOptions } from '../config.js';
import { OrderFeed } from '../feed/order-feed.js';
import { addInventory, inventoryOf, noInventory, openStock, plantNotFound, requireStock, type StockState, subtractInventory, type WrittenStock } from './stock.js';
import { appendStockChange } from './stock-changes.js';
import {
  appendInventoryDelta,
  appendStockEvents,
  compactInventory,
  findStock,
  findUncounted,
  lockOrInsertStock,
  lockOrInsertStocks,
  lockStock,
  openOrdersOfPlant,
  readInventory,
  recordRefusedAttempt,
  writeStocks,
} from './stock.repository.js';

@Injectable()
export class StockService {
  private readonly inventory: CoalescedRead<Inventory>;

  constructor(
    private readonly database: Database,
    private readonly feed: OrderFeed,
    @Inject(STORE_OPTIONS) private readonly options: StoreOptions,
  ) {
    this.inventory = new CoalescedRead(() => readInventory(database));
  }

  readInventory(): Promise<Inventory> {
    return this.inventory.get();
  }

  async get(plantId: number): Promise<Versioned<Stock>> {
    const stock = requireStock(plantId, await findStock(this.database, plantId));
    return versioned(stock, stock.version);
  }

  /** Lists plants whose units nobody has counted since they began with none. @throws CodedError `invalid-cursor` */
  async listUncounted(requested: ListUncounted): Promise<Page<UncountedStock>> {
    const paging = new Paging('uncounted stock', byNumber);
    const bounds = paging.bounds(requested);
    const entry = ({ plantId, since }: { plantId: number; since: Date }): UncountedStock => ({ plantId, since: since.toISOString() });
    return paging.page(await findUncounted(this.database, bounds), bounds, { entry, position: ({ plantId }) => plantId });
  }

  /**
   * Sets a plant's free units, as counted by staff, and from how many on it is low. Reserved and sold units stay as they are.
   * @throws DomainError `plant-not-found`, `precondition-failed`
   */
  async set(context: RpcContext, { plantId, stock: { free, lowStockAt }, ifVersion }: SetStock): Promise<Versioned<Stock>> {
    const set = await this.database.transaction(async (tx) => {
      const before = await this.lock(tx, plantId, ifVersion);
      const after = { ...before, free: free ?? before.free, lowStockAt: lowStockAt === undefined ? before.lowStockAt : lowStockAt };
      audit(tx, actorOf(context), store.setStock, auditedChange(before, after));
      return writeByStaff(tx, { before, after: { ...after, ...(free !== undefined && { uncounted: false }) } }, context);
    });
    this.feed.notify();
    return set;
  }

  /**
   * Adds free units, or removes them, with a reason for the history. Idempotent with an Idempotency-Key.
   * @throws DomainError `plant-not-found`, `precondition-failed`; `insufficient-stock` if less than none would be free
   */
  async adjust(context: RpcContext, { plantId, adjustment: { by, reason }, ifVersion }: AdjustStock): Promise<Versioned<Stock> | Replayed> {
    const adjusted = await this.database.transaction((tx) =>
      runOnce(tx, context.idempotency, async () => {
        const before = await this.lock(tx, plantId, ifVersion);
        const free = before.free + by;
        if (free < 0) throw new DomainError('insufficient-stock', `Only ${before.free} units are free.`, { available: before.free });
        if (free > maxFree) throw invalidInput([{ pointer: '/adjustment/by', detail: `must leave at most ${maxFree} free units` }]);
        const after = { ...before, free };
        audit(tx, actorOf(context), store.adjustStock, auditedChange(before, after));
        return writeByStaff(tx, { before, after: { ...after, uncounted: false } }, context, reason);
      }),
    );
    this.feed.notify();
    return adjusted;
  }

  private async lock(tx: Transaction, plantId: number, ifVersion: number | undefined): Promise<StockState> {
    const [locked] = await lockStock(tx, [plantId]);
    const stock = requireStock(plantId, locked);
    if (ifVersion !== undefined && ifVersion !== stock.version) {
      throw new DomainError('precondition-failed', `The stock is now at version ${stock.version}. Read it again.`);
    }
    return stock;
  }

  /** Opens stock for a plant of a new incarnation, with `units` or `INITIAL_STOCK`. Ignores calls with a known or older incarnation. */
  open(opening: OpenStock): Promise<{ plantId: number }> {
    const { plantId } = opening;
    return this.database.transaction(async (tx) => {
      const stock = await lockOrInsertStock(tx, plantId);
      const after = openStock(stock, opening, this.options.initialStock);
      if (after) await writeStockAndInventory(tx, [{ before: stock, after }]);
      return { plantId };
    });
  }

  /** `open` for several plants in one transaction. */
  openAll(openings: readonly OpenStock[]): Promise<{ plants: number }> {
    return this.database.transaction(async (tx) => {
      const known = new Map((await lockOrInsertStocks(tx, openings.map(({ plantId }) => plantId))).map((stock) => [stock.plantId, stock]));
      const opened = new Map<number, Change>();
      for (const opening of openings) {
        const { plantId } = opening;
        const before = known.get(plantId);
        const stock = opened.get(plantId)?.after ?? before;
        const after = stock && openStock(stock, opening, this.options.initialStock);
        if (before && after) opened.set(plantId, { before, after });
      }
      await writeStockAndInventory(tx, [...opened.values()]);
      return { plants: openings.length };
    });
  }

  /**
   * Updates a plant's listing, unless the call is outdated.
   * @throws DomainError `plant-not-found` while this incarnation's stock is not open
   */
  list({ plantId, incarnation, version, status }: ListStock): Promise<{ plantId: number }> {
    return this.database.transaction(async (tx) => {
      const [stock] = await lockStock(tx, [plantId]);
      if (!stock || stock.incarnation < incarnation) throw plantNotFound(plantId);
      const isNewer = stock.incarnation === incarnation && version > stock.listingVersion && stock.listing !== 'retired';
      if (isNewer) {
        await writeStockAndInventory(tx, [{ before: stock, after: { ...stock, listing: status, listingVersion: version } }]);
      }
      return { plantId };
    });
  }

  /**
   * Retires a plant that is being deleted, unless open orders remain. The store decides this, because it places the orders.
   * Idempotent.
   * @returns the open orders that keep the plant from being retired
   * @throws CodedError `unavailable` for an abandoned attempt
   */
  retire(context: RpcContext, { plantId, incarnation, attempt = 0 }: RetirePlant): Promise<OpenOrders> {
    return this.database.transaction(async (tx) => {
      const stock = await lockOrInsertStock(tx, plantId);
      if (stock.incarnation > incarnation) return { openOrders: [] };
      assertNotAbandoned(context, attempt, stock.refusedAttempt);
      // A separate statement after the lock: it must see what committed during the wait.
      const openOrders = await openOrdersOfPlant(tx, plantId);
      if (openOrders.length > 0) await recordRefusedAttempt(tx, plantId, attempt);
      else await writeStockAndInventory(tx, [{ before: stock, after: { ...stock, incarnation, listing: 'retired', free: 0 } }]);
      return { openOrders };
    });
  }
}

/** As of `PUT`. */
const maxFree = 1_000_000_000;

/** A plant's stock before and after a change. */
interface Change {
  readonly before: StockState;
  readonly after: WrittenStock;
}

/** Writes locked rows and the inventory delta. @returns the rows' new versions by plant */
async function writeStockAndInventory(tx: Transaction, changes: readonly Change[]): Promise<ReadonlyMap<number, number>> {
  const versions = await writeStocks(tx, changes.map(({ after }) => after));
  const deltas = changes.map(({ before, after }) => subtractInventory(inventoryOf(after.listing, after), inventoryOf(before.listing, before)));
  appendInventoryDelta(tx, deltas.reduce(addInventory, noInventory));
  return versions;
}

/** Writes a locked row, its entry in the history, and its event. */
async function writeByStaff(tx: Transaction, { before, after }: Change, context: RpcContext, reason?: string): Promise<Versioned<Stock>> {
  const versions = await writeStockAndInventory(tx, [{ before, after }]);
  appendStockEvents(tx, await readClock(tx), [{ stock: { ...before, lowStockAt: after.lowStockAt }, free: after.free }]);
  const by = after.free - before.free;
  if (by !== 0 || reason !== undefined) appendStockChange(tx, { plantId: after.plantId, by, free: after.free, reason, actor: context.principal.subject });
  return versioned(after, versions.get(after.plantId) ?? before.version);
}

/** The free units before and after, and the threshold of low stock if it changes. */
const auditedChange = ({ plantId, ...before }: StockState, after: StockState): string =>
  `${plantId}: ${before.free} to ${after.free}${before.lowStockAt === after.lowStockAt ? '' : `, low at ${before.lowStockAt ?? 'default'} to ${after.lowStockAt ?? 'default'}`}`;

const versioned = ({ plantId, free, reserved, sold, writtenOff, lowStockAt }: StockState, version: number): Versioned<Stock> =>
  new Versioned({ plantId, free, reserved, sold, ...(writtenOff > 0 && { writtenOff }), ...(lowStockAt !== null && { lowStockAt }) }, version);

const batch = 5_000;

/** Compacts inventory deltas into the total every second, so that the cost of reading the inventory stays constant. */
@Injectable()
export class InventoryCompactor extends BackgroundLoop {
  constructor(database: Database, @InjectLogger() logger: Logger) {
    super(
      { name: 'compact inventory', intervalMs: 1_000 },
      async () => (await database.transaction((tx) => compactInventory(tx, batch))) === batch,
      logger,
    );
  }
}
