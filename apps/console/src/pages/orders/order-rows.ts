import type { Order } from '../../shop/day.js';
import type { LiveMessage } from '../../shop/live-events.js';

/** Merges the reloaded newest page into the rows. Rows missing from it no longer match. @returns undefined if there is a gap between the two */
export function withNewest(rows: readonly Order[], newest: readonly Order[], isWhole: boolean): readonly Order[] | undefined {
  if (isWhole) return newest;
  const ids = new Set(newest.map(({ id }) => id));
  const last = rows.findLastIndex(({ id }) => ids.has(id));
  if (last === -1 && rows.length > 0) return undefined;
  return [...newest, ...rows.slice(last + 1)];
}

/** Returns a row as changed by an event of its order. */
export function changedRow(row: Order, message: LiveMessage): Order {
  if (message.event === 'order.status_changed') return { ...row, status: message.data.newStatus, complete: message.data.newStatus === 'delivered' };
  if (message.event === 'order.shipped') return { ...row, carrier: message.data.carrier, trackingNumber: message.data.trackingNumber };
  if (message.event === 'refund.due') return { ...row, refund: 'due' };
  return row;
}
