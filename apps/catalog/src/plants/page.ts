import { createHash } from 'node:crypto';
import type { PlantStatus } from '@plant-shop/contracts/catalog';
import { DomainError } from '@plant-shop/contracts/errors';
import type { PlantState } from './plant.js';

/** A list and its filter: a cursor of one is none of another. */
export type PlantList =
  | { readonly of: 'status'; readonly status: readonly PlantStatus[] }
  | { readonly of: 'tags'; readonly tags: readonly string[] };

/** Where a page begins and ends: older than `before`, at most `limit` plants and about `maxBytes` of JSON. */
export interface PageBounds {
  readonly before: number;
  readonly limit: number;
  readonly maxBytes: number;
}

const maxLimit = 1_000;
const maxPageBytes = 512 * 1024;

export const boundsOf = (list: PlantList, page: { readonly limit?: number; readonly cursor?: string }): PageBounds => ({
  before: page.cursor === undefined ? Number.MAX_SAFE_INTEGER : positionOf(list, page.cursor),
  limit: page.limit ?? maxLimit,
  maxBytes: maxPageBytes,
});

/** The plants of one page, and the cursor of the next where there are more rows than fit. At least one plant fits. */
export function cutPage<Row extends Pick<PlantState, 'incarnation'> & { readonly bytes: number }>(
  list: PlantList,
  rows: readonly Row[],
  { limit, maxBytes }: PageBounds,
): { readonly rows: readonly Row[]; readonly next?: string } {
  let bytes = 0;
  const end = rows.findIndex((row, n) => n === limit || ((bytes += row.bytes) > maxBytes && n > 0));
  const last = end === -1 ? undefined : rows[end - 1];
  return last ? { rows: rows.slice(0, end), next: cursorOf(list, last.incarnation) } : { rows };
}

// Short, however many tags were asked for. The order and number of a filter's values mean nothing.
function fingerprint(list: PlantList): string {
  const values = list.of === 'status' ? list.status : list.tags;
  return createHash('sha256')
    .update(JSON.stringify([list.of, [...new Set(values)].sort()]))
    .digest('base64url')
    .slice(0, 16);
}

const cursorOf = (list: PlantList, incarnation: number): string =>
  Buffer.from(JSON.stringify([fingerprint(list), incarnation])).toString('base64url');

/** @throws DomainError `invalid-cursor` for everything that is not a cursor of this list */
function positionOf(list: PlantList, cursor: string): number {
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    throw invalidCursor();
  }
  if (!Array.isArray(parsed) || parsed.length !== 2 || parsed[0] !== fingerprint(list)) throw invalidCursor();
  const position: unknown = parsed[1];
  if (!Number.isSafeInteger(position) || (position as number) < 1) throw invalidCursor();
  return position as number;
}

const invalidCursor = (): DomainError =>
  new DomainError('invalid-cursor', 'The cursor is not one of this list and filter. Begin again without a cursor.');
