import type { KnownStock, PlantDrift } from '@plant-shop/contracts/reconcile';
import type { PlantState } from '../plants/plant.js';

/** A plant as the catalog has it. */
export interface ComparedPlant extends Pick<PlantState, 'id' | 'incarnation' | 'version' | 'status'> {
  /** The store is being told of it, or it is being deleted: that goes on by itself. */
  readonly isUnderWay: boolean;
}

/** Ids above `after` on both sides, ascending. */
export interface PlantPage {
  readonly plants: readonly ComparedPlant[];
  readonly stock: readonly KnownStock[];
  /** The last id that both sides were read up to; undefined: to the end. */
  readonly upTo: number | undefined;
}

interface WithPlant {
  readonly drift: Exclude<PlantDrift, 'plant-missing'>;
  readonly plant: ComparedPlant;
  /** Undefined: the store never heard of the plant's id. */
  readonly stock: KnownStock | undefined;
}

interface WithoutPlant {
  readonly drift: 'plant-missing';
  readonly stock: KnownStock;
}

export type Drift = WithPlant | WithoutPlant;

/** Both sides as far as both were read: a full page ends with its last id, and the other side may go on beyond. */
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

/** How many plant ids a page has, on whichever side. */
export const checkedOf = ({ plants, stock }: PlantPage): number =>
  new Set([...plants.map(({ id }) => id), ...stock.map(({ plantId }) => plantId)]).size;

/** What differs on a page, by ascending id. */
export function driftsOf({ plants, stock }: PlantPage): Drift[] {
  const stockOf = new Map(stock.map((one) => [one.plantId, one]));
  const known = new Set(plants.map(({ id }) => id));
  const withPlant = plants.flatMap((plant) => (plant.isUnderWay ? [] : compare(plant, stockOf.get(plant.id))));
  const without = stock.flatMap((one): Drift[] => (known.has(one.plantId) ? [] : missing(one)));
  return [...withPlant, ...without].sort((a, b) => plantIdOf(a) - plantIdOf(b));
}

/** Incarnations only go up, and a retired one stays retired: each difference says which side was set back. */
function compare(plant: ComparedPlant, stock: KnownStock | undefined): Drift[] {
  if (!stock || stock.incarnation < plant.incarnation) return [{ drift: 'stock-missing', plant, stock }];
  // Of one id there is one plant at a time: a later one was only opened after this one had been deleted.
  if (stock.incarnation > plant.incarnation) return [{ drift: 'plant-deleted', plant, stock }, ...missing(stock)];
  if (stock.listing === 'retired') return [{ drift: 'plant-deleted', plant, stock }];
  return stock.listing === plant.status ? [] : [{ drift: 'listing-differs', plant, stock }];
}

const missing = (stock: KnownStock): Drift[] => (stock.listing === 'retired' ? [] : [{ drift: 'plant-missing', stock }]);

/** The store heard of a later version than the catalog has: its number must be passed for the store to listen. */
export const isBehind = (plant: ComparedPlant, stock: KnownStock | undefined): boolean =>
  stock !== undefined && stock.listingVersion >= plant.version;

export const plantIdOf = (drift: Drift): number => ('plant' in drift ? drift.plant.id : drift.stock.plantId);

/** Those of both lists that are the same to the last number. */
export function seenTwice(first: readonly Drift[], second: readonly Drift[]): Drift[] {
  const known = new Set(first.map((one) => JSON.stringify(one)));
  return second.filter((one) => known.has(JSON.stringify(one)));
}
