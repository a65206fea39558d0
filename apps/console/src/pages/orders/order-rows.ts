import { replaceEqualDeep } from '@tanstack/react-query';
import type { Order } from '../../shop/day.js';
import type { LiveMessage } from '../../shop/live-events.js';

/** The rows as they were read again. What has not changed stays the same object, which is not drawn again. */
export function withRead(rows: readonly Order[], read: readonly Order[]): readonly Order[] {
  const known = new Map(rows.map((row) => [row.id, row]));
  const merged = read.map((row) => replaceEqualDeep(known.get(row.id), row));
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
