import type { KnownStock, PlantDrift } from '@plant-shop/contracts/reconcile';
import type { PlantState } from '../plants/plant.js';

/** A plant as the catalog stores it. */
export interface ComparedPlant extends Pick<PlantState, 'id' | 'incarnation' | 'version' | 'status'> {
  /** Calls to the store are pending for the plant, or it is being deleted. Both complete in the background. */
  readonly hasIntent: boolean;
}

/** A page of both sides, by ascending plant id. */
export interface PlantPage {
  readonly plants: readonly ComparedPlant[];
  readonly stock: readonly KnownStock[];
  /** The id up to which both sides were read; undefined: to the end. */
  readonly upTo: number | undefined;
}

interface DriftWithPlant {
  readonly drift: Exclude<PlantDrift, 'plant-missing'>;
  readonly plant: ComparedPlant;
  /** Undefined: the store does not know the plant's id. */
  readonly stock: KnownStock | undefined;
}

interface DriftWithoutPlant {
  readonly drift: 'plant-missing';
  readonly stock: KnownStock;
}

export type Drift = DriftWithPlant | DriftWithoutPlant;

/** Cuts both sides at the id up to which both were read: the smaller last id of the full pages. */
export function pageOf(plants: readonly ComparedPlant[], stock: readonly KnownStock[], limit: number): PlantPage {
  const ends = [
    ...(plants.length < limit ? [] : [plants.at(-1)?.id ?? 0]),
    ...(stock.length < limit ? [] : [stock.at(-1)?.plantId ?? 0]),
  ];
  const upTo = ends.length === 0 ? undefined : Math.min(...ends);
  const isWithin = (id: number): boolean => upTo === undefined || id <= upTo;
  return {
    plants: plants.filter(({ id }) => isWithin(id)),
    stock: stock.filter(({ plantId }) => isWithin(plantId)),
    upTo,
  };
}

/** Counts the distinct plant ids of a page. */
export const countPlantIds = ({ plants, stock }: PlantPage): number =>
  new Set([...plants.map(({ id }) => id), ...stock.map(({ plantId }) => plantId)]).size;

/** Returns the differences of a page, by ascending id. Skips plants with an intent. */
export function driftsOf({ plants, stock }: PlantPage): Drift[] {
  const stockOf = new Map(stock.map((one) => [one.plantId, one]));
  const known = new Set(plants.map(({ id }) => id));
  const withPlant = plants.flatMap((plant) => (plant.hasIntent ? [] : compare(plant, stockOf.get(plant.id))));
  const without = stock.flatMap((one): Drift[] => (known.has(one.plantId) ? [] : plantMissing(one)));
  return [...withPlant, ...without].sort((a, b) => plantIdOf(a) - plantIdOf(b));
}

/**
 * Compares a plant with its stock. Incarnations only increase and retired stock stays retired, so a difference shows which side was
 * restored.
 */
function compare(plant: ComparedPlant, stock: KnownStock | undefined): Drift[] {
  if (!stock || stock.incarnation < plant.incarnation) return [{ drift: 'stock-missing', plant, stock }];
  // An id has one plant at a time, so a later incarnation was opened only after this plant had been deleted.
  if (stock.incarnation > plant.incarnation) return [{ drift: 'plant-deleted', plant, stock }, ...plantMissing(stock)];
  if (stock.listing === 'retired') return [{ drift: 'plant-deleted', plant, stock }];
  return stock.listing === plant.status ? [] : [{ drift: 'listing-differs', plant, stock }];
}

const plantMissing = (stock: KnownStock): Drift[] => (stock.listing === 'retired' ? [] : [{ drift: 'plant-missing', stock }]);

/** Returns whether the store has seen this version or a later one. The store then ignores the plant until its version is higher. */
export const isBehind = (plant: ComparedPlant, stock: KnownStock | undefined): boolean =>
  stock !== undefined && stock.listingVersion >= plant.version;

export const plantIdOf = (drift: Drift): number => ('plant' in drift ? drift.plant.id : drift.stock.plantId);
