/** What a replica does. Every replica follows the store's feed into the event log, so each role works without the other. */
export const roles = ['both', 'stream', 'webhooks'] as const;

export type Role = (typeof roles)[number];

/** It serves clients of the stream. */
export const hasStream = (role: Role): boolean => role !== 'webhooks';

/** It makes and sends webhook deliveries, and answers the operations of webhooks. */
export const hasWebhooks = (role: Role): boolean => role !== 'stream';
