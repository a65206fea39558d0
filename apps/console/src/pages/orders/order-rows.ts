import { replaceEqualDeep } from '@tanstack/react-query';
import type { Order } from '../../shop/day.js';
import type { LiveMessage } from '../../shop/live-events.js';

/**
 * Merges the reloaded first page into the rows. Rows missing from it no longer match. What has not changed stays the same object, which is not
 * drawn again. @returns undefined if there is a gap between the two
 */
export function withFirst(rows: readonly Order[], first: readonly Order[], isWhole: boolean): readonly Order[] | undefined {
  const known = new Map(rows.map((row) => [row.id, row]));
  const ids = new Set(first.map(({ id }) => id));
  const last = rows.findLastIndex(({ id }) => ids.has(id));
  if (last === -1 && rows.length > 0 && !isWhole) return undefined;
  const merged = [...first.map((row) => replaceEqualDeep(known.get(row.id), row)), ...(isWhole ? [] : rows.slice(last + 1))];
  return merged.length === rows.length && merged.every((row, n) => row === rows[n]) ? rows : merged;
}

/** Puts an order where it belongs, unless that is on a page that is not loaded yet. */
export function withOrder(rows: readonly Order[], order: Order, { isOldestFirst, isEnd }: { readonly isOldestFirst: boolean; readonly isEnd: boolean }): readonly Order[] {
  const others = rows.filter(({ id }) => id !== order.id);
  const isAfter = (one: Order): boolean => one.placedAt > order.placedAt || (one.placedAt === order.placedAt && one.id > order.id);
  const at = others.findIndex((one) => isAfter(one) === isOldestFirst);
  if (at === -1) return isEnd ? [...others, order] : others;
  return others.toSpliced(at, 0, order);
}

/** Returns a row as changed by an event of its order. */
export function changedRow(row: Order, message: LiveMessage): Order {
  if (message.event === 'order.status_changed') return { ...row, status: message.data.newStatus, complete: message.data.newStatus === 'delivered' };
  if (message.event === 'order.shipped') return { ...row, carrier: message.data.carrier, trackingNumber: message.data.trackingNumber };
  if (message.event === 'refund.due') return { ...row, refund: 'due' };
  return row;
}
