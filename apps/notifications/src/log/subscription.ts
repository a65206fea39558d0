import { defaultEventType, type EventType, eventTypes, isStockEvent } from '@plant-shop/contracts/events';
import { permits, readingOrders, readingStock } from '@plant-shop/contracts/permissions';
import { CodedError } from '@plant-shop/platform/errors';
import type { Principal } from '@plant-shop/platform/rpc/context';
import type { LogEntry } from './log-entry.js';

/** A set of event types. Equal sets are the same object, so that clients of equal sets share encoded bytes. */
export interface EventTypes {
  /** In the order of the contract's `eventTypes`. */
  readonly types: readonly EventType[];
  readonly key: string;
  /** Whether they include events of stock. */
  readonly haveStock: boolean;
  has(type: string): boolean;
}

const known = new Map<string, EventTypes>();

export function eventTypesOf(asked: readonly string[]): EventTypes {
  const types = eventTypes.filter((one) => asked.includes(one));
  const key = types.join();
  let set = known.get(key);
  if (!set) {
    const names: ReadonlySet<string> = new Set(types);
    known.set(key, (set = { types, key, haveStock: types.some(isStockEvent), has: (type) => names.has(type) }));
  }
  return set;
}

/** Applies to a client that names no types. */
export const defaultTypes = eventTypesOf([defaultEventType]);

/** Which events a principal may see: of orders, those of `subject` or all; and those of stock. */
export interface Visibility {
  readonly subject: string;
  readonly all: boolean;
  readonly stock: boolean;
}

/** Undefined members do not filter. */
export interface Filter {
  readonly types: EventTypes;
  readonly orderIds?: readonly number[];
  readonly plantIds?: readonly number[];
  /** Filters status changes only: events of other types have no status and pass. */
  readonly newStatuses?: readonly string[];
}

/** What a client may see, and its filter on that. */
export interface Subscription {
  readonly visibility: Visibility;
  readonly filter: Filter;
}

export const visibilityOf = (principal: Principal): Visibility => ({
  subject: principal.subject,
  all: principal.permissions.includes('read:orders'),
  stock: permits(readingStock, principal),
});

/** Throws `forbidden` if the types include events of stock that the principal may not see at all. */
export function assertMaySee(types: readonly string[], principal: Principal): void {
  if (!types.some(isStockEvent) || permits(readingStock, principal)) return;
  throw new CodedError('forbidden', 'Stock events need the permission read:stock.');
}

/**
 * Throws `forbidden` if the principal may not follow events of these types by the stream, or no longer. One that may still see orders
 * goes on without events of stock.
 */
export function assertMayFollow(types: readonly string[], principal: Principal): void {
  if (types.every(isStockEvent)) assertMaySee(types, principal);
  else if (!permits(readingOrders, principal)) {
    throw new CodedError('forbidden', 'Reading orders needs an API key, or the permission read:orders or write:orders.');
  }
}

/** Returns whether the filter restricts more than event types. */
export const isFiltered = ({ orderIds, plantIds, newStatuses }: Filter): boolean => [orderIds, plantIds, newStatuses].some((one) => one !== undefined);

/** Returns whether an entry is for a client. Gap notices pass every filter: the missing events may have been the client's own. */
export function isVisibleTo({ visibility, filter }: Subscription, { event, fields }: LogEntry): boolean {
  if (!event || !fields) return true;
  if (fields.isStock ? !visibility.stock : !visibility.all && event.subject !== visibility.subject) return false;
  const { types, orderIds, plantIds, newStatuses } = filter;
  return (
    types.has(fields.type) &&
    isAmong(orderIds, fields.orderId) &&
    isAmong(plantIds, fields.plantId) &&
    (fields.type !== defaultEventType || isAmong(newStatuses, fields.newStatus))
  );
}

const isAmong = <T>(wanted: readonly T[] | undefined, value: T | undefined): boolean =>
  wanted === undefined || (value !== undefined && wanted.includes(value));
