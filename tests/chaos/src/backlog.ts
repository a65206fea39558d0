import { defaultTypes, type EventType, type Follower } from './history.js';

/**
 * Describes what a trial still waits for. Idle services are not enough: between logging an event and creating its webhook
 * deliveries there are moments without any pending work.
 * @param left pending work of the services
 * @param expected all events of the trial's orders
 */
export const backlogOf = (left: readonly string[], followers: readonly Follower[], expected: readonly { readonly id: string; readonly type: EventType }[]): string[] => [
  ...left,
  ...followers.flatMap(({ name, types = defaultTypes, events }) => {
    const seen = new Set(events.map(({ id }) => id));
    const wanted = expected.filter(({ type }) => types.includes(type));
    const missing = wanted.filter(({ id }) => !seen.has(id)).length;
    return missing > 0 ? [`${name} lacks ${missing} of ${wanted.length} events`] : [];
  }),
];
