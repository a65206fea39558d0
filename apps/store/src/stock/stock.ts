import type { PlantStatus } from '@plant-shop/contracts/catalog';
import type { Inventory } from '@plant-shop/contracts/store';

/** What staff list the plant under, or that the plant is gone. */
export type Listing = PlantStatus | 'retired';

/** A plant's units. Always: free + reserved + sold = what was put in and not taken out again. */
export interface Units {
  readonly free: number;
  readonly reserved: number;
  readonly sold: number;
}

export interface StockState extends Units {
  readonly plantId: number;
  readonly incarnation: number;
  readonly listing: Listing;
  readonly listingVersion: number;
  readonly refusedAttempt: number;
  readonly version: number;
}

export const noUnits: Units = { free: 0, reserved: 0, sold: 0 };

export const addUnits = (a: Units, b: Units): Units => ({
  free: a.free + b.free,
  reserved: a.reserved + b.reserved,
  sold: a.sold + b.sold,
});

/** What units count for in the inventory: free ones under their plant's listing, reserved as pending, sold as sold. */
export function inventoryOf(listing: Listing, units: Units): Inventory {
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
