import type { OrderStatus } from './store.js';

/** What clients can ask for, by stream and by webhook. All types share one log, one order and one cursor. */
export const eventTypes = ['order.status_changed', 'order.placed', 'order.shipped', 'refund.due'] as const;
export type EventType = (typeof eventTypes)[number];

/** What a client gets that names no types. The others are opt-in. */
export const defaultEventType = 'order.status_changed' satisfies EventType;

/** An event as clients get it, by WebSocket and by webhook: these members, serialised once by the store. */
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
    /** Empty until there is one. */
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
    /** When the order is cancelled without a payment. `YYYY-MM-DDTHH:mm:ss.SSSZ` */
    readonly reservedUntil?: string;
  }
>;

/** Each shipment that staff report: a later one replaces carrier and tracking number. */
export type OrderShipped = Event<
  'order.shipped',
  { readonly orderId: number; readonly plantId: number; readonly carrier: string; readonly trackingNumber: string }
>;

/** The refund itself is read with `store.getRefund`. */
export type RefundDue = Event<'refund.due', { readonly refundId: number; readonly orderId: number; readonly plantId: number }>;

/** What the store's feed holds. */
export type OrderEvent = OrderStatusChanged | OrderPlaced | OrderShipped | RefundDue;

/** What a webhook gets when its owner asks for a test (`notifications.testWebhook`). */
export interface WebhookTest {
  readonly event: 'webhook.test';
  /** `YYYY-MM-DDTHH:mm:ss.SSSZ` */
  readonly timestamp: string;
  readonly data: { readonly webhookId: string };
}
