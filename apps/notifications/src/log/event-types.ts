import { defaultEventType, type EventType, eventTypes } from '@plant-shop/contracts/events';

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

/** SQL: the event type of row `l` of the log. */
export const typeOfRow = `coalesce(l.event_type, '${defaultEventType}')`;

/**
 * SQL: row `l` of the log repeats an event that has an earlier number (migration 1764000000040). Use this, never `repeats`: that is also
 * true for every opt-in type, to hide it from the previous release.
 */
export const isRepetition = 'coalesce(l.is_repetition, l.repeats)';
