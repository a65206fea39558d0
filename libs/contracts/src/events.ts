import type { OrderStatus } from './store.js';

/** The event as clients get it, by WebSocket and by webhook: these members, serialised once by the store. */
export interface OrderStatusChanged {
  readonly event: 'order.status_changed';
  /** `YYYY-MM-DDTHH:mm:ss.SSSZ` */
  readonly timestamp: string;
  readonly data: {
    readonly orderId: number;
    readonly plantId: number;
    readonly previousStatus: OrderStatus;
    readonly newStatus: OrderStatus;
    /** Empty until there is one. */
    readonly trackingNumber: string;
  };
}

/** What a webhook gets when its owner asks for a test (`notifications.testWebhook`). */
export interface WebhookTest {
  readonly event: 'webhook.test';
  /** `YYYY-MM-DDTHH:mm:ss.SSSZ` */
  readonly timestamp: string;
  readonly data: { readonly webhookId: string };
}
