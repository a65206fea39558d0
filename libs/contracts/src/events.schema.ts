import { described, id, instant, integer, type Members, objectOf, oneOf, optional, text, uuid } from './answers.js';
import { orderStatuses } from './store.js';

const resumable = {
  id: described(uuid, 'The same in every delivery of the event, by stream or webhook.'),
  cursor: described(text(500), 'Opaque. Connect with the last cursor received to get every later event once.'),
};

/**
 * Returns an event's schema in the two forms in which clients receive it. `plain`: by webhook, by Server-Sent Events, and by WebSocket
 * without a cursor and without `orders.v1.resumable`. `resumable`, with id and cursor: in pages, and by WebSocket with a cursor or with
 * the subprotocol `orders.v1.resumable`.
 */
const inBothForms = <const M extends Members>(name: string, members: M) => ({
  plain: objectOf(name)(members),
  resumable: objectOf(`Resumable${name}`)({ ...resumable, ...members }),
});

const statusChange = objectOf('OrderStatusChange')({
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

const placing = objectOf('OrderPlacing')({
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

const shipment = objectOf('OrderShipment')({
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

const refund = objectOf('RefundOfOrder')({
  refundId: described(id, 'Read it with `GET /store/refund/{refundId}`.'),
  orderId: id,
  plantId: id,
});
const refundIsDue = {
  event: oneOf(['refund.due']),
  timestamp: described(instant, 'When the payment that must be refunded was reported.'),
  data: refund,
};

export const orderStatusChanged = inBothForms('OrderStatusChanged', statusChanged);
export const orderPlaced = inBothForms('OrderPlaced', placed);
export const orderShipped = inBothForms('OrderShipped', shipped);
export const refundDue = inBothForms('RefundDue', refundIsDue);

const stockLevel = objectOf('StockLevel')({
  plantId: id,
  free: described(integer(0), 'Free units after the change.'),
  lowStockAt: optional(described(integer(0), 'The number that staff have set for the plant.')),
});
const stockEvent = <const Type extends string>(type: Type) => ({
  event: oneOf([type]),
  timestamp: described(instant, 'When the free units changed.'),
  data: stockLevel,
});

export const stockLow = inBothForms('StockLow', stockEvent('stock.low'));
export const stockOut = inBothForms('StockOut', stockEvent('stock.out'));
export const stockBack = inBothForms('StockBack', stockEvent('stock.back'));

/** A test of a webhook; no order changes. */
export const webhookTest = objectOf('WebhookTest')({
  event: oneOf(['webhook.test']),
  timestamp: described(instant, 'When the test was requested.'),
  data: objectOf('WebhookTestData')({ webhookId: uuid }),
});
