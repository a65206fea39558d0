import { operationsOf } from '@plant-shop/platform/rpc/operation';
import { permission } from './permissions.js';
import { forClientsUnder, jsonObject } from './client-operation.js';
import type { ErrorCode } from './errors.js';
import { ExpectedVersion, Flag, Id, ObjectOf, VisibleText } from './fields.js';
import { Description } from './schema.js';
import { type Order, orderAnswer } from './store.orders.js';

// The end of an order: shipped and delivered, or cancelled.

// Sent by clients

export class Shipment {
  @VisibleText()
  carrier: string;

  @VisibleText()
  trackingNumber: string;
}

/** What staff say about an order that they cancel. */
export class StaffCancellation {
  @VisibleText({ max: 500 })
  @Description('Why. The timeline shows it, also to the owner.')
  reason: string;

  @Flag()
  @Description('Whether the units can be sold again. If not, they are written off.')
  restock: boolean;
}

// Requests

export class ShipOrder {
  @Id()
  orderId: number;

  @ObjectOf(() => Shipment)
  shipment: Shipment;

  @ExpectedVersion()
  ifVersion?: number;
}

export class DeliverOrder {
  @Id()
  orderId: number;

  @ExpectedVersion()
  ifVersion?: number;
}

export class CancelOrder {
  @Id()
  orderId: number;

  @ExpectedVersion()
  ifVersion?: number;
}

export class CancelOrderByStaff extends CancelOrder {
  @ObjectOf(() => StaffCancellation)
  cancellation: StaffCancellation;
}

const { write } = operationsOf<ErrorCode>('store');
const forClients = forClientsUnder('Store');

export const fulfilmentOperations = {
  /** Replaces carrier and tracking number. */
  shipOrder: forClients(
    write<Order>()('shipOrder', ShipOrder, {
      errors: ['order-not-found', 'order-transition-refused', 'precondition-failed', 'idempotency-key-reused'],
      versioned: true,
    }),
    {
      route: 'POST /v3/store/order/:orderId/shipment',
      access: permission('write:shipments'),
      summary: 'Report the shipment of an order',
      description: 'Sets or replaces carrier and tracking number of an approved order. Reporting the same ones again changes nothing.',
      body: jsonObject('shipment'),
      answer: orderAnswer,
    },
  ),
  deliverOrder: forClients(
    write<Order>()('deliverOrder', DeliverOrder, {
      errors: ['order-not-found', 'order-transition-refused', 'precondition-failed', 'idempotency-key-reused'],
      versioned: true,
    }),
    {
      route: 'POST /v3/store/order/:orderId/delivery',
      access: permission('write:shipments'),
      summary: 'Report the delivery of an order',
      description: 'Only approved orders. Send no body.',
      answer: orderAnswer,
    },
  ),
  /** Cancelling again answers the same order. */
  cancelOrder: forClients(
    write<Order>()('cancelOrder', CancelOrder, {
      errors: ['order-not-found', 'forbidden', 'order-not-cancellable', 'precondition-failed'],
      versioned: true,
    }),
    {
      route: 'DELETE /v3/store/order/:orderId',
      access: permission('write:orders', 'manage:orders'),
      summary: 'Cancel an order',
      description: 'Its units return to stock at once; the order remains readable. Cancelling it again returns the same order.',
      answer: orderAnswer,
    },
  ),
  /** Cancelling again answers the same order. */
  cancelOrderByStaff: forClients(
    write<Order>()('cancelOrderByStaff', CancelOrderByStaff, {
      errors: ['order-not-found', 'order-not-cancellable', 'precondition-failed', 'idempotency-key-reused'],
      versioned: true,
    }),
    {
      route: 'POST /v3/store/order/:orderId/cancellation',
      access: permission('manage:orders'),
      summary: 'Cancel an order for staff, also a paid one',
      description:
        'Until it is shipped. Its units return to stock or are written off. If a payment was reported, its refund becomes due. Cancelling it ' +
        'again returns the same order.',
      body: jsonObject('cancellation'),
      answer: orderAnswer,
    },
  ),
};
