import type { Follower } from './history.js';

/**
 * What a trial still waits for. That services have nothing to do is not enough: between an event in the log and its webhook
 * deliveries there are moments in which nothing is pending anywhere.
 * @param left what services have not done yet
 * @param eventIds all events of the trial's orders
 */
export const backlogOf = (left: readonly string[], followers: readonly Follower[], eventIds: readonly string[]): string[] => [
  ...left,
  ...followers.flatMap(({ name, events }) => {
    const seen = new Set(events.map(({ id }) => id));
    const missing = eventIds.filter((id) => !seen.has(id)).length;
    return missing > 0 ? [`${name} lacks ${missing} of ${eventIds.length} events`] : [];
  }),
];
