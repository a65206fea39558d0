import type { PlantSort } from '@plant-shop/contracts/catalog';

/** The start of a page of search results: after a plant of a window, in the window's order. A window is a range of incarnations. */
export interface SearchPosition {
  /** Upper bound (exclusive) of the window's incarnations. */
  readonly before: number;
  readonly score: number;
  /** The sort key when sorting by name. */
  readonly key: string;
  readonly incarnation: number;
}

/** Returns the start of the window of plants older than `before`. */
export function firstPosition(order: PlantSort, before: number = Number.MAX_SAFE_INTEGER): SearchPosition {
  return { before, score: -1, key: '', incarnation: order === 'name' ? 0 : before };
}

/**
 * Returns the position after a plant.
 * @param newest the newest plant of the window; plants created later stay outside of it
 */
export function positionAfter(
  order: PlantSort,
  { before }: SearchPosition,
  { score, key, incarnation }: Omit<SearchPosition, 'before'>,
  newest: number,
): SearchPosition {
  switch (order) {
    case 'newest':
      return firstPosition(order, incarnation);
    case 'relevance':
      return { before: Math.min(before, newest + 1), score, key: '', incarnation };
    case 'name':
      return { before, score, key, incarnation };
    default:
      return order satisfies never;
  }
}

export const encodePosition = ({ before, score, key, incarnation }: SearchPosition): unknown => [before, score, key, incarnation];

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value);

/** Validates a decoded cursor completely, since clients may forge one. */
export const isEncodedPosition = (value: unknown): value is [number, number, string, number] =>
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

export const decodePosition = ([before, score, key, incarnation]: [number, number, string, number]): SearchPosition => ({
  before,
  score,
  key,
  incarnation,
});
