import { defaultTypes, type EventType, type Follower } from './history.js';

/**
 * What a trial still waits for. That services have nothing to do is not enough: between an event in the log and its webhook
 * deliveries there are moments in which nothing is pending anywhere.
 * @param left what services have not done yet
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
