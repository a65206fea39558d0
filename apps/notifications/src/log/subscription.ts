import { defaultEventType, type EventType, eventTypes } from '@plant-shop/contracts/events';
import type { Principal } from '@plant-shop/platform/rpc/context';
import type { LogEntry } from './log-entry.js';

/** A set of event types. Equal sets are the same object, so that clients of equal sets share encoded bytes. */
export interface EventTypes {
  /** In the order of the contract's `eventTypes`. */
  readonly types: readonly EventType[];
  readonly key: string;
  has(type: string): boolean;
}

const known = new Map<string, EventTypes>();

export function eventTypesOf(asked: readonly string[]): EventTypes {
  const types = eventTypes.filter((one) => asked.includes(one));
  const key = types.join();
  let set = known.get(key);
  if (!set) {
    const names: ReadonlySet<string> = new Set(types);
    known.set(key, (set = { types, key, has: (type) => names.has(type) }));
  }
  return set;
}

/** Applies to a client that names no types. */
export const defaultTypes = eventTypesOf([defaultEventType]);

/** Whose events a principal may see: those of `subject`, or all. */
export interface Visibility {
  readonly subject: string;
  readonly all: boolean;
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

export const visibilityOf = ({ subject, permissions }: Principal): Visibility => ({ subject, all: permissions.includes('read:orders') });

/** Returns whether the filter restricts more than event types. */
export const isFiltered = ({ orderIds, plantIds, newStatuses }: Filter): boolean => [orderIds, plantIds, newStatuses].some((one) => one !== undefined);

/** Returns whether an entry is for a client. Gap notices pass every filter: the missing events may have been the client's own. */
export function isVisibleTo({ visibility, filter }: Subscription, { event, fields }: LogEntry): boolean {
  if (!event || !fields) return true;
  if (!visibility.all && event.subject !== visibility.subject) return false;
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
