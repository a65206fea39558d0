import { DomainError } from '@plant-shop/contracts/errors';
import type { PlantStatus } from '@plant-shop/contracts/catalog';
import type { Inventory, OpenStock } from '@plant-shop/contracts/store';

/** The status under which staff list the plant; `retired`: the plant is deleted. */
export type PlantListing = PlantStatus | 'retired';

/** A plant's units. Invariant: free + reserved + sold + written off = units ever supplied minus units removed. */
export interface Units {
  readonly free: number;
  readonly reserved: number;
  readonly sold: number;
}

export interface StockState extends Units {
  readonly plantId: number;
  readonly incarnation: number;
  readonly listing: PlantListing;
  readonly listingVersion: number;
  readonly refusedAttempt: number;
  /** Of orders that staff cancelled, and whose plants cannot be sold again. */
  readonly writtenOff: number;
  /** From this number of free units down the plant is low on stock. Null: none is set; availability then counts 10, events none. */
  readonly lowStockAt: number | null;
  readonly version: number;
}

export const plantNotFound = (plantId: number): DomainError => new DomainError('plant-not-found', `There is no plant ${plantId}.`);

/** Returns the stock of a plant that there is. @throws DomainError `plant-not-found` */
export function requireStock(plantId: number, stock: StockState | undefined): StockState {
  if (!stock || stock.listing === 'retired') throw plantNotFound(plantId);
  return stock;
}

/** What a change by staff or the catalog writes. */
export interface WrittenStock extends StockState {
  /** Whether somebody has still to count the units. Absent: as before. */
  readonly uncounted?: boolean;
}

/** Opens the stock of a new incarnation, with `units` or the initial stock. Returns undefined for a known or older incarnation. */
export function openStock(
  stock: StockState,
  { incarnation, status, version, units }: Omit<OpenStock, 'plantId'>,
  initialStock: number,
): WrittenStock | undefined {
  if (incarnation <= stock.incarnation) return undefined;
  const free = units ?? initialStock;
  return { ...stock, incarnation, listing: status, listingVersion: version, free, lowStockAt: null, uncounted: free === 0 };
}

export const noUnits: Units = { free: 0, reserved: 0, sold: 0 };

export const addUnits = (a: Units, b: Units): Units => ({
  free: a.free + b.free,
  reserved: a.reserved + b.reserved,
  sold: a.sold + b.sold,
});

/** Returns a plant's share of the inventory: free units count under the plant's listing, reserved ones as pending, sold ones as sold. */
export function inventoryOf(listing: PlantListing, units: Units): Inventory {
  const freeAs = (status: PlantStatus): number => (listing === status ? units.free : 0);
  return {
    available: freeAs('available'),
    pending: units.reserved + freeAs('pending'),
    sold: units.sold + freeAs('sold'),
  };
}

export const noInventory: Inventory = { available: 0, pending: 0, sold: 0 };

export const addInventory = (a: Inventory, b: Inventory): Inventory => ({
  available: a.available + b.available,
  pending: a.pending + b.pending,
  sold: a.sold + b.sold,
});

export const subtractInventory = (a: Inventory, b: Inventory): Inventory => ({
  available: a.available - b.available,
  pending: a.pending - b.pending,
  sold: a.sold - b.sold,
});
