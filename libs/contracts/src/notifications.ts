import { NoPayload, operationsOf } from '@plant-shop/platform/rpc/operation';
import { readAuditOf } from './audit.js';
import type { ErrorCode } from './errors.js';
import { deliveryOperations } from './notifications.deliveries.js';
import { destinationOperations } from './notifications.destinations.js';
import { mailOperations } from './notifications.mails.js';
import { webhookOperations } from './notifications.webhooks.js';
import { AdvanceClock } from './store.sandbox.js';

const { write } = operationsOf<ErrorCode>('notifications');

export const notifications = {
  ...webhookOperations,
  ...deliveryOperations,
  ...mailOperations,
  ...destinationOperations,
  readAudit: readAuditOf('notifications'),
  // Only in a sandbox. The store's parts of them are the operations of clients.
  advanceClock: write<Record<string, never>>()('advanceClock', AdvanceClock),
  resetSandbox: write<Record<string, never>>()('resetSandbox', NoPayload),
};

export * from './notifications.deliveries.js';
export * from './notifications.destinations.js';
export * from './notifications.mails.js';
export * from './notifications.webhooks.js';
