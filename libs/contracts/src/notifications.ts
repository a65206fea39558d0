import { operationsOf } from '@plant-shop/platform/rpc/operation';
import type { ErrorCode } from './errors.js';
import { deliveryOperations } from './notifications.deliveries.js';
import { webhookOperations } from './notifications.webhooks.js';
import { AdvanceClock } from './store.sandbox.js';

export const notifications = {
  ...webhookOperations,
  ...deliveryOperations,
  /** Only in a sandbox. The store's part of it is the operation of clients. */
  advanceClock: operationsOf<ErrorCode>('notifications').write<Record<string, never>>()('advanceClock', AdvanceClock),
};

export * from './notifications.deliveries.js';
export * from './notifications.webhooks.js';
