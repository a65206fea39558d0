/** What a replica does. Every replica copies the store's feed into the event log, so each role works without the other. */
export const roles = ['both', 'stream', 'webhooks'] as const;

export type Role = (typeof roles)[number];

/** Returns whether a replica of this role serves stream clients. */
export const hasStream = (role: Role): boolean => role !== 'webhooks';

/** Returns whether a replica of this role enqueues and sends webhook deliveries, and answers the operations of webhooks. */
export const hasWebhooks = (role: Role): boolean => role !== 'stream';
