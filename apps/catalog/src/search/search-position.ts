import type { PlantSort } from '@plant-shop/contracts/catalog';

/** The start of a page of search results: after a plant of a window, in the window's order. A window is a range of incarnations. */
export interface SearchPosition {
  /** Upper bound (exclusive) of the window's incarnations. */
  readonly before: number;
  /** Lower bound (inclusive) of the window's incarnations; undefined: the next page chooses it. */
  readonly from?: number | undefined;
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
 * @param window the newest plant of the window, since plants created later stay outside of it, and the lower bound
 */
export function positionAfter(
  order: PlantSort,
  { before }: SearchPosition,
  { score, key, incarnation }: Omit<SearchPosition, 'before'>,
  { newest, horizon }: { readonly newest: number; readonly horizon: number },
): SearchPosition {
  switch (order) {
    case 'newest':
      return firstPosition(order, incarnation);
    case 'relevance':
      return { before: Math.min(before, newest + 1), from: horizon, score, key: '', incarnation };
    case 'name':
      return { before, score, key, incarnation };
    default:
      return order satisfies never;
  }
}

export const encodePosition = ({ before, from, score, key, incarnation }: SearchPosition): unknown => [before, from ?? null, score, key, incarnation];

type EncodedPosition = [before: number, from: number | null, score: number, key: string, incarnation: number];

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value);

/** Validates a decoded cursor completely, since clients may forge one. */
export const isEncodedPosition = (value: unknown): value is EncodedPosition => {
  if (!Array.isArray(value) || value.length !== 5) return false;
  const [before, from, score, key, incarnation] = value as unknown[];
  return (
    isWhole(before) &&
    (from === null || isWhole(from)) &&
    isWhole(score) &&
    Math.abs(score) < 1_000 &&
    typeof key === 'string' &&
    key.length <= 400 &&
    !key.includes('\0') &&
    key.isWellFormed() &&
    isWhole(incarnation) &&
    incarnation >= 0
  );
};

export const decodePosition = ([before, from, score, key, incarnation]: EncodedPosition): SearchPosition => ({
  before,
  from: from ?? undefined,
  score,
  key,
  incarnation,
});
