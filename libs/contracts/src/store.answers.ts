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
  complete: described(boolean, 'Whether the order is delivered.'),
  placedAt: optional(instant),
  reservedUntil: optional(described(instant, 'When the order is cancelled unless it is paid. Absent: it does not wait for a payment.')),
  carrier: optional(text(200)),
  trackingNumber: optional(text(200)),
  refund: optional(described(refundStatus, '`due`: a payment must be refunded. `completed`: it was refunded.')),
  owner: optional(described(text(200), "The owner's username, only for callers with `read:orders`. Absent: the user was deleted.")),
});

const timelineEntry = objectOf<TimelineEntry>('TimelineEntry', "One step in the history of an order.")({
  at: instant,
  previousStatus: optional(described(orderStatus, 'Absent: the step changed no status (placing, shipping, a transfer).')),
  newStatus: orderStatus,
  actor: described(oneOf(['owner', 'staff', 'store']), 'The owner at that time, staff, or the store itself.'),
  reason: text(),
  carrier: optional(described(text(200), 'Only for a shipment.')),
  trackingNumber: optional(described(text(200), 'Only for a shipment.')),
  refundId: optional(described(id, 'Only for a refund that became due or was completed.')),
  eventId: optional(
    described(uuid, 'Id of the event that the stream and webhooks deliver. Absent: the step has none (a transfer, a completed refund).'),
  ),
});

const refund = objectOf<Refund>('Refund', 'A payment that arrived too late or twice and must be returned.')({
  id,
  orderId: id,
  status: refundStatus,
  paymentReference: described(text(200), "The provider's reference of the payment."),
  dueAt: instant,
  completedAt: optional(instant),
  reference: optional(described(text(200), "The provider's reference of the transfer that returned the money.")),
});

const inventory = objectOf<Inventory>('Inventory', 'Units per plant status, summed over all plants. Always has all three members.')({
  available: units,
  pending: units,
  sold: units,
});

const stock = objectOf<Stock>('Stock', 'Units of one plant.')({
  plantId: id,
  free: described(units, 'Units that can be ordered.'),
  reserved: described(units, 'Units in placed orders.'),
  sold: described(units, 'Units in approved or delivered orders.'),
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
