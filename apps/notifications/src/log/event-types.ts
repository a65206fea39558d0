import { defaultEventType, type EventType, eventTypes } from '@plant-shop/contracts/events';

/** Types that a client asked for. Equal sets are the same object, so that clients which ask for the same share bytes. */
export interface EventTypes {
  /** In the order of the contract. */
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

/** Of a client that asks for none. */
export const defaultTypes = eventTypesOf([defaultEventType]);

/** SQL: the type of row `l` of the log. */
export const typeOfRow = `coalesce(l.event_type, '${defaultEventType}')`;

/** SQL: row `l` of the log is an event that came under an earlier number already (migration 1764000000040). */
export const isRepetition = 'coalesce(l.is_repetition, l.repeats)';
