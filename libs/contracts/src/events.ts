import type { AnswerOf } from './answers.js';
import type { orderPlaced, orderShipped, orderStatusChanged, refundDue, stockBack, stockLow, stockOut, webhookTest } from './events.schema.js';

/** Event types that clients can subscribe to, by stream and by webhook. All share one log, one order and one cursor. */
export const eventTypes = ['order.status_changed', 'order.placed', 'order.shipped', 'refund.due', 'stock.low', 'stock.out', 'stock.back'] as const;
export type EventType = (typeof eventTypes)[number];

/** Stock events belong to no user: who may read stock (`readingStock`) sees all of them. */
export const isStockEvent = (type: string): boolean => type.startsWith('stock.');

/** The subject of events that belong to no user. */
export const noSubject = '00000000-0000-0000-0000-000000000000';

/** The type that clients receive by default. The others are opt-in. */
export const defaultEventType = 'order.status_changed' satisfies EventType;

// Events as clients receive them by WebSocket and by webhook, serialised once by the store.
export type OrderStatusChanged = AnswerOf<typeof orderStatusChanged.plain>;
export type OrderPlaced = AnswerOf<typeof orderPlaced.plain>;
/** A shipment reported by staff. A later one replaces carrier and tracking number. */
export type OrderShipped = AnswerOf<typeof orderShipped.plain>;
/** Read the refund itself with `store.getRefund`. */
export type RefundDue = AnswerOf<typeof refundDue.plain>;

export type OrderEvent = OrderStatusChanged | OrderPlaced | OrderShipped | RefundDue;

/** A change of a plant's free units that crossed a threshold. */
export type StockEvent = AnswerOf<typeof stockLow.plain> | AnswerOf<typeof stockOut.plain> | AnswerOf<typeof stockBack.plain>;

/** An event of the store's feed. */
export type ShopEvent = OrderEvent | StockEvent;

/** Sent to a webhook when its owner requests a test (`notifications.testWebhook`). */
export type WebhookTest = AnswerOf<typeof webhookTest>;
