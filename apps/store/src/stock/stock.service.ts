import { Inject, Injectable } from '@nestjs/common';
import { type Inventory, type ListStock, type OpenOrders, type OpenStock, type RetirePlant, type Stock, store } from '@plant-shop/contracts/store';
import { DomainError } from '@plant-shop/contracts/errors';
import { actorOf, audit } from '@plant-shop/platform/audit/audit-log';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import { unavailable } from '@plant-shop/platform/errors';
import { Versioned } from '@plant-shop/platform/rpc/answer';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { CoalescedRead } from '@plant-shop/platform/coalesced-read';
import { STORE_OPTIONS, type StoreOptions } from '../options.js';
import { addInventory, inventoryOf, noInventory, type StockState, subtractInventory } from './stock.js';
import {
  appendInventoryDelta,
  findStock,
  lockOrMakeStock,
  lockOrMakeStocks,
  lockStock,
  noteRefusedAttempt,
  openOrdersOfPlant,
  readInventory,
  writeStock,
  writeStocks,
} from './stock.repository.js';

@Injectable()
export class StockService {
  private readonly inventory: CoalescedRead<Inventory>;

  constructor(
    private readonly database: Database,
    @Inject(STORE_OPTIONS) private readonly options: StoreOptions,
  ) {
    this.inventory = new CoalescedRead(() => readInventory(database));
  }

  readInventory(): Promise<Inventory> {
    return this.inventory.get();
  }

  async get(plantId: number): Promise<Versioned<Stock>> {
    const stock = existing(plantId, await findStock(this.database, plantId));
    return versioned(stock, stock.version);
  }

  /** Staff count the shelf: free units become what they say, whatever is reserved or sold stays. */
  set(context: RpcContext, plantId: number, free: number, ifVersion?: number): Promise<Versioned<Stock>> {
    return this.database.transaction(async (tx) => {
      const [locked] = await lockStock(tx, [plantId]);
      const stock = existing(plantId, locked);
      if (ifVersion !== undefined && ifVersion !== stock.version) {
        throw new DomainError('precondition-failed', `The stock is at version ${stock.version} by now. Read it again.`);
      }
      const after = { ...stock, free };
      const version = await change(tx, stock, after);
      audit(tx, actorOf(context), store.setStock, plantId);
      return versioned(after, version);
    });
  }

  /** A plant of a higher incarnation than was known begins with its units; any other call is late and changes nothing. */
  open({ plantId, incarnation, status, version, units }: OpenStock): Promise<{ plantId: number }> {
    return this.database.transaction(async (tx) => {
      const stock = await lockOrMakeStock(tx, plantId);
      if (incarnation > stock.incarnation) {
        const free = units ?? this.options.initialStock;
        await change(tx, stock, { ...stock, incarnation, listing: status, listingVersion: version, free });
      }
      return { plantId };
    });
  }

  /** `open` for several plants, each by itself. */
  openAll(openings: readonly OpenStock[]): Promise<{ plants: number }> {
    return this.database.transaction(async (tx) => {
      const known = new Map((await lockOrMakeStocks(tx, openings.map(({ plantId }) => plantId))).map((stock) => [stock.plantId, stock]));
      const changed = new Map<number, StockState>();
      let delta = noInventory;
      for (const { plantId, incarnation, status, version, units } of openings) {
        const stock = changed.get(plantId) ?? known.get(plantId);
        if (!stock || incarnation <= stock.incarnation) continue;
        const after = { ...stock, incarnation, listing: status, listingVersion: version, free: units ?? this.options.initialStock };
        delta = addInventory(delta, subtractInventory(inventoryOf(after.listing, after), inventoryOf(stock.listing, stock)));
        changed.set(plantId, after);
      }
      writeStocks(tx, [...changed.values()]);
      appendInventoryDelta(tx, delta);
      return { plants: openings.length };
    });
  }

  /** @throws DomainError `plant-not-found` while this incarnation's stock was not opened */
  list({ plantId, incarnation, version, status }: ListStock): Promise<{ plantId: number }> {
    return this.database.transaction(async (tx) => {
      const [stock] = await lockStock(tx, [plantId]);
      if (!stock || stock.incarnation < incarnation) throw plantNotFound(plantId);
      const isNews = stock.incarnation === incarnation && version > stock.listingVersion && stock.listing !== 'retired';
      if (isNews) await change(tx, stock, { ...stock, listing: status, listingVersion: version });
      return { plantId };
    });
  }

  /**
   * Decides here, where orders are placed, whether a plant may be deleted; repeating it changes nothing.
   * @throws CodedError `unavailable` when the catalog no longer waits for this attempt, or was refused a later one: a
   * deletion that was given up must not happen after its orders are closed
   */
  retire({ deadline }: RpcContext, { plantId, incarnation, attempt = 0 }: RetirePlant): Promise<OpenOrders> {
    return this.database.transaction(async (tx) => {
      const stock = await lockOrMakeStock(tx, plantId);
      if (stock.incarnation > incarnation) return { openOrders: [] };
      if (deadline.isPast || attempt < stock.refusedAttempt) throw unavailable('store');
      // A new statement after the lock: what committed while this one waited must be seen.
      const openOrders = await openOrdersOfPlant(tx, plantId);
      if (openOrders.length > 0) await noteRefusedAttempt(tx, plantId, attempt);
      else await change(tx, stock, { ...stock, incarnation, listing: 'retired', free: 0 });
      return { openOrders };
    });
  }
}

/** Row and inventory together. @returns the row's new version */
async function change(tx: Transaction, before: StockState, after: StockState): Promise<number> {
  const delta = subtractInventory(inventoryOf(after.listing, after), inventoryOf(before.listing, before));
  const version = await writeStock(tx, after);
  appendInventoryDelta(tx, delta);
  return version;
}

const plantNotFound = (plantId: number): DomainError => new DomainError('plant-not-found', `There is no plant ${plantId}.`);

function existing(plantId: number, stock: StockState | undefined): StockState {
  if (!stock || stock.listing === 'retired') throw plantNotFound(plantId);
  return stock;
}

const versioned = ({ plantId, free, reserved, sold }: StockState, version: number): Versioned<Stock> =>
  new Versioned({ plantId, free, reserved, sold }, version);
