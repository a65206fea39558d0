import { type AnswerSchema, described, id, instant, integer, objectOf, oneOf, optional, text, uuid } from './answers.js';
import type { OrderEvent, OrderPlaced, OrderShipped, OrderStatusChanged, RefundDue, WebhookTest } from './events.js';
import { orderStatuses } from './store.js';

/** Id and log position of an event, for clients that resume. */
export interface Resumable {
  readonly id: string;
  readonly cursor: string;
}

const resumable = {
  id: described(uuid, 'The same in every delivery of the event, by stream or webhook.'),
  cursor: described(text(500), 'Opaque. Connect with the last cursor received to get every later event once.'),
};

/** An event in the two forms in which clients receive it. */
export interface EventSchemas<E extends OrderEvent> {
  /** The event alone: by webhook, by Server-Sent Events, and by WebSocket without a cursor and without `orders.v1.resumable`. */
  readonly plain: AnswerSchema<E>;
  /** The event with id and cursor: in pages, and by WebSocket with a cursor or with the subprotocol `orders.v1.resumable`. */
  readonly resumable: AnswerSchema<E & Resumable>;
}

const statusChange = objectOf<OrderStatusChanged['data']>('OrderStatusChange')({
  orderId: id,
  plantId: id,
  previousStatus: oneOf(orderStatuses),
  newStatus: oneOf(orderStatuses),
  trackingNumber: described(text(200), 'Empty until the order is approved.'),
});
const statusChanged = {
  event: oneOf(['order.status_changed']),
  timestamp: described(instant, 'When the status changed.'),
  data: statusChange,
};

const placing = objectOf<OrderPlaced['data']>('OrderPlacing')({
  orderId: id,
  plantId: id,
  quantity: integer(1, 1_000_000),
  shipDate: optional(instant),
  reservedUntil: optional(described(instant, 'The order is cancelled at this time unless it is paid. Absent: no payment is pending.')),
});
const placed = {
  event: oneOf(['order.placed']),
  timestamp: described(instant, 'When the order was placed.'),
  data: placing,
};

const shipment = objectOf<OrderShipped['data']>('OrderShipment')({
  orderId: id,
  plantId: id,
  carrier: text(200),
  trackingNumber: described(text(200), "The carrier's number."),
});
const shipped = {
  event: oneOf(['order.shipped']),
  timestamp: described(instant, 'When the shipment was reported. A later report replaces it.'),
  data: shipment,
};

const refund = objectOf<RefundDue['data']>('RefundOfOrder')({
  refundId: described(id, 'Read it with `GET /store/refund/{refundId}`.'),
  orderId: id,
  plantId: id,
});
const refundIsDue = {
  event: oneOf(['refund.due']),
  timestamp: described(instant, 'When the payment that must be refunded was reported.'),
  data: refund,
};

export const orderStatusChanged: EventSchemas<OrderStatusChanged> = {
  plain: objectOf<OrderStatusChanged>('OrderStatusChanged')(statusChanged),
  resumable: objectOf<OrderStatusChanged & Resumable>('ResumableOrderStatusChanged')({ ...resumable, ...statusChanged }),
};
export const orderPlaced: EventSchemas<OrderPlaced> = {
  plain: objectOf<OrderPlaced>('OrderPlaced')(placed),
  resumable: objectOf<OrderPlaced & Resumable>('ResumableOrderPlaced')({ ...resumable, ...placed }),
};
export const orderShipped: EventSchemas<OrderShipped> = {
  plain: objectOf<OrderShipped>('OrderShipped')(shipped),
  resumable: objectOf<OrderShipped & Resumable>('ResumableOrderShipped')({ ...resumable, ...shipped }),
};
export const refundDue: EventSchemas<RefundDue> = {
  plain: objectOf<RefundDue>('RefundDue')(refundIsDue),
  resumable: objectOf<RefundDue & Resumable>('ResumableRefundDue')({ ...resumable, ...refundIsDue }),
};

/** A test of a webhook; no order changes. */
export const webhookTest = objectOf<WebhookTest>('WebhookTest')({
  event: oneOf(['webhook.test']),
  timestamp: described(instant, 'When the test was requested.'),
  data: objectOf<WebhookTest['data']>('WebhookTestData')({ webhookId: uuid }),
});
