import type { Principal } from '@plant-shop/platform/rpc/principal';
import type { Entry } from './entry.js';

/** Whose events a principal may see. */
export interface Sees {
  readonly subject: string;
  /** Everybody's. */
  readonly all: boolean;
}

/** Undefined: not filtered by it. */
export interface Filter {
  readonly orderIds?: readonly number[];
  readonly plantIds?: readonly number[];
  readonly newStatuses?: readonly string[];
}

/** What a client may see, and what of it it wants. */
export interface Subscription {
  readonly sees: Sees;
  readonly filter: Filter;
}

/** The same as for reading an order at the gateway (apps/gateway/src/access.ts). */
export const mayReadOrders = ({ permissions, shown }: Principal): boolean =>
  shown.includes('apiKey') || permissions.includes('write:orders') || permissions.includes('read:orders');

export const seenBy = ({ subject, permissions }: Principal): Sees => ({ subject, all: permissions.includes('read:orders') });

export const isFiltered = (filter: Filter): boolean => Object.keys(filter).length > 0;

/** A gap is everybody's: what it hides might have been theirs. */
export function isFor({ sees, filter }: Subscription, { event, facts }: Entry): boolean {
  if (!event || !facts) return true;
  if (!sees.all && event.subject !== sees.subject) return false;
  const { orderIds, plantIds, newStatuses } = filter;
  return isAmong(orderIds, facts.orderId) && isAmong(plantIds, facts.plantId) && isAmong(newStatuses, facts.newStatus);
}

const isAmong = <T>(wanted: readonly T[] | undefined, value: T | undefined): boolean =>
  wanted === undefined || (value !== undefined && wanted.includes(value));
