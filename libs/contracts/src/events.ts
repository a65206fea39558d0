import type { OrderStatus } from './store.js';

/** Event types that clients can subscribe to, by stream and by webhook. All share one log, one order and one cursor. */
export const eventTypes = ['order.status_changed', 'order.placed', 'order.shipped', 'refund.due'] as const;
export type EventType = (typeof eventTypes)[number];

/** The type that clients receive by default. The others are opt-in. */
export const defaultEventType = 'order.status_changed' satisfies EventType;

/** An event as clients receive it by WebSocket and by webhook, serialised once by the store. */
interface Event<Type extends EventType, Data> {
  readonly event: Type;
  /** `YYYY-MM-DDTHH:mm:ss.SSSZ` */
  readonly timestamp: string;
  readonly data: Data;
}

export type OrderStatusChanged = Event<
  'order.status_changed',
  {
    readonly orderId: number;
    readonly plantId: number;
    readonly previousStatus: OrderStatus;
    readonly newStatus: OrderStatus;
    /** Empty until the order is approved. */
    readonly trackingNumber: string;
  }
>;

export type OrderPlaced = Event<
  'order.placed',
  {
    readonly orderId: number;
    readonly plantId: number;
    readonly quantity: number;
    /** `YYYY-MM-DDTHH:mm:ss.SSSZ` */
    readonly shipDate?: string;
    /** When the order is cancelled unless it is paid. `YYYY-MM-DDTHH:mm:ss.SSSZ` */
    readonly reservedUntil?: string;
  }
>;

/** A shipment reported by staff. A later one replaces carrier and tracking number. */
export type OrderShipped = Event<
  'order.shipped',
  { readonly orderId: number; readonly plantId: number; readonly carrier: string; readonly trackingNumber: string }
>;

/** Read the refund itself with `store.getRefund`. */
export type RefundDue = Event<'refund.due', { readonly refundId: number; readonly orderId: number; readonly plantId: number }>;

/** An event of the store's feed. */
export type OrderEvent = OrderStatusChanged | OrderPlaced | OrderShipped | RefundDue;

/** Sent to a webhook when its owner requests a test (`notifications.testWebhook`). */
export interface WebhookTest {
  readonly event: 'webhook.test';
  /** `YYYY-MM-DDTHH:mm:ss.SSSZ` */
  readonly timestamp: string;
  readonly data: { readonly webhookId: string };
}
