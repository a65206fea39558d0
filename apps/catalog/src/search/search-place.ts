import type { PlantSort } from '@plant-shop/contracts/catalog';

/** Where a page of a search begins: behind a plant of a window, in the window's order. */
export interface SearchPlace {
  /** The window is of plants older than that. */
  readonly before: number;
  readonly score: number;
  /** What plants are sorted by by name. */
  readonly key: string;
  readonly incarnation: number;
}

/** The first page of the window of plants older than `before`. */
export function start(order: PlantSort, before: number = Number.MAX_SAFE_INTEGER): SearchPlace {
  return { before, score: -1, key: '', incarnation: order === 'name' ? 0 : before };
}

/** The page behind a plant. `newest` is the newest plant of the window: what is created meanwhile is not in it. */
export function behind(
  order: PlantSort,
  { before }: SearchPlace,
  { score, key, incarnation }: Omit<SearchPlace, 'before'>,
  newest: number,
): SearchPlace {
  switch (order) {
    case 'newest':
      return start(order, incarnation);
    case 'relevance':
      return { before: Math.min(before, newest + 1), score, key: '', incarnation };
    case 'name':
      return { before, score, key, incarnation };
    default:
      return order satisfies never;
  }
}

export const toPosition = ({ before, score, key, incarnation }: SearchPlace): unknown => [before, score, key, incarnation];

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value);

/** Clients could make a cursor themselves. */
export const isPosition = (value: unknown): value is [number, number, string, number] =>
  Array.isArray(value) &&
  value.length === 4 &&
  isWhole(value[0]) &&
  isWhole(value[1]) &&
  Math.abs(value[1]) < 1_000 &&
  typeof value[2] === 'string' &&
  value[2].length <= 400 &&
  !value[2].includes('\0') &&
  value[2].isWellFormed() &&
  isWhole(value[3]) &&
  value[3] >= 0;

export const toPlace = ([before, score, key, incarnation]: [number, number, string, number]): SearchPlace => ({
  before,
  score,
  key,
  incarnation,
});
