import type { Principal } from '@plant-shop/platform/rpc/principal';
import { defaultEventType } from '@plant-shop/contracts/events';
import type { EventTypes } from '../event-log/event-types.js';
import type { Entry } from './entry.js';

/** Whose events a principal may see. */
export interface Sees {
  readonly subject: string;
  /** Everybody's. */
  readonly all: boolean;
}

/** Undefined: not filtered by it. */
export interface Filter {
  readonly types: EventTypes;
  readonly orderIds?: readonly number[];
  readonly plantIds?: readonly number[];
  /** Of status changes; events of other types have no status, and pass. */
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

/** Whether it wants less than all events of its types. */
export const isFiltered = ({ orderIds, plantIds, newStatuses }: Filter): boolean => [orderIds, plantIds, newStatuses].some((one) => one !== undefined);

/** A gap is everybody's: what it hides might have been theirs. */
export function isFor({ sees, filter }: Subscription, { event, facts }: Entry): boolean {
  if (!event || !facts) return true;
  if (!sees.all && event.subject !== sees.subject) return false;
  const { types, orderIds, plantIds, newStatuses } = filter;
  return (
    types.has(facts.type) &&
    isAmong(orderIds, facts.orderId) &&
    isAmong(plantIds, facts.plantId) &&
    (facts.type !== defaultEventType || isAmong(newStatuses, facts.newStatus))
  );
}

const isAmong = <T>(wanted: readonly T[] | undefined, value: T | undefined): boolean =>
  wanted === undefined || (value !== undefined && wanted.includes(value));
