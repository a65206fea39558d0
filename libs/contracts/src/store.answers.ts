import { type AnswersOf, boolean, described, id, instant, integer, listOf, objectOf, oneOf, optional, text, uuid } from './answers.js';
import {
  type Inventory,
  type Order,
  type OrderStatus,
  orderStatuses,
  type Refund,
  type RefundStatus,
  refundStatuses,
  type Stock,
  type store,
  type TimelineEntry,
} from './store.js';

const orderStatus = oneOf<OrderStatus>(orderStatuses);
const refundStatus = oneOf<RefundStatus>(refundStatuses);
const units = integer(0);

const order = objectOf<Order>('Order')({
  id,
  plantId: id,
  quantity: integer(1, 1_000_000),
  shipDate: optional(instant),
  status: orderStatus,
  complete: described(boolean, 'Whether it is delivered.'),
  placedAt: optional(instant),
  reservedUntil: optional(described(instant, 'While it waits for a payment: when it is cancelled without one.')),
  carrier: optional(text(200)),
  trackingNumber: optional(text(200)),
  refund: optional(described(refundStatus, 'Whether money is owed back for it, or was given back.')),
  owner: optional(described(text(200), "The owner's username, in what callers with `read:orders` read. Absent: that user was deleted.")),
});

const timelineEntry = objectOf<TimelineEntry>('TimelineEntry', "One step of an order's life.")({
  at: instant,
  previousStatus: optional(described(orderStatus, 'Absent: the step changed no status (placing, shipping, a transfer).')),
  newStatus: orderStatus,
  actor: described(oneOf(['owner', 'staff', 'store']), 'The owner of that time, staff, or the store itself.'),
  reason: text(),
  carrier: optional(described(text(200), 'Of a shipment.')),
  trackingNumber: optional(described(text(200), 'Of a shipment.')),
  refundId: optional(described(id, 'Of a refund that became due or was completed.')),
  eventId: optional(described(uuid, 'Id of the event that the stream and webhooks deliver of this step. Absent: the step has none (a transfer, a completed refund).')),
});

const refund = objectOf<Refund>('Refund', 'Money that came too late or twice, and is owed back.')({
  id,
  orderId: id,
  status: refundStatus,
  paymentReference: described(text(200), "The provider's name for the payment."),
  dueAt: instant,
  completedAt: optional(instant),
  reference: optional(described(text(200), "The provider's name for the transfer that gave the money back.")),
});

const inventory = objectOf<Inventory>('Inventory', 'Units per plant status, summed over all plants. Always all three.')({
  available: units,
  pending: units,
  sold: units,
});

const stock = objectOf<Stock>('Stock', 'Units of one plant.')({
  plantId: id,
  free: described(units, 'Can be ordered.'),
  reserved: described(units, 'In orders that are placed.'),
  sold: described(units, 'In orders that are approved or delivered.'),
});

export const storeAnswers = {
  placeOrder: order,
  getOrder: order,
  cancelOrder: order,
  listOrders: listOf(order, 1_000),
  getTimeline: listOf(timelineEntry),
  transferOrder: order,
  reportPayment: order,
  listRefunds: listOf(refund, 1_000),
  getRefund: refund,
  completeRefund: refund,
  shipOrder: order,
  deliverOrder: order,
  readInventory: inventory,
  getStock: stock,
  setStock: stock,
} satisfies AnswersOf<typeof store>;
