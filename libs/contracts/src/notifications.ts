import { deliveryOperations } from './notifications.deliveries.js';
import { webhookOperations } from './notifications.webhooks.js';


export const notifications = { ...webhookOperations, ...deliveryOperations };

export * from './notifications.deliveries.js';
export * from './notifications.webhooks.js';
