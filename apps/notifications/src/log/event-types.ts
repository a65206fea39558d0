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
