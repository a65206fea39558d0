// The accounts of the broker. `npm run openapi` writes their permissions into deploy/nats/nats.conf: calls follow from the operations'
// `callers`, the other subjects from `broadcasts`.

/** The services, and an operator's commands (`npm run reconcile`). */
export const accounts = ['gateway', 'catalog', 'store', 'identity', 'notifications', 'operator'] as const;
export type Account = (typeof accounts)[number];

interface Broadcast {
  /** Begins with the only service that publishes on it. */
  readonly subject: `${Account}.${string}`;
  readonly subscribers: readonly Account[];
}

/** Messages without an answer on core NATS: they may be lost. */
export const broadcasts = {
  /** Empty: the revocation log has grown. Followers then read it. */
  revocations: { subject: 'identity.revocations', subscribers: ['gateway', 'notifications'] },
  /** Newly numbered events, as a `FeedMessage` of libs/events. */
  feed: { subject: 'store.feed', subscribers: ['notifications'] },
  /** Logged events, between replicas of notifications; large messages omit the events themselves. */
  fanout: { subject: 'notifications.fanout', subscribers: ['notifications'] },
  /** Counts of requests, between replicas of the gateway. */
  counts: { subject: 'gateway.counts', subscribers: ['gateway'] },
} as const satisfies Readonly<Record<string, Broadcast>>;
