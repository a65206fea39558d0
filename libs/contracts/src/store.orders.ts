import { operationsOf } from '@plant-shop/platform/rpc/operation';
import { IsOptional } from 'class-validator';
import { orderReader, permission } from './permissions.js';
import { type AnswerOf, boolean, described, id, instant, integer, listOf, objectOf, oneOf, optional, text, uuid } from './answers.js';
import { forClientsUnder, jsonObject } from './client-operation.js';
import type { ErrorCode } from './errors.js';
import {
  DateTime,
  ExpectedVersion,
  Flag,
  Id,
  IdToAssign,
  Integer,
  ListOf,
  ObjectOf,
  OneOf,
  PageRequest,
  SomeOf,
  Text,
} from './fields.js';
import { Description, Schema } from './schema.js';

// Orders: placing, reading and transferring them. Their end is in store.fulfilment.ts.

export const orderStatuses = ['placed', 'approved', 'delivered', 'cancelled'] as const;
export type OrderStatus = (typeof orderStatuses)[number];

export const refundStatuses = ['due', 'completed'] as const;
export type RefundStatus = (typeof refundStatuses)[number];

// Sent by clients

export class NewOrder {
  @IdToAssign()
  id?: number;

  @Id()
  plantId: number;

  @IsOptional()
  @Integer(1, 1_000_000)
  @Schema({ default: 1 })
  quantity?: number;

  @IsOptional()
  @DateTime()
  @Description('Earliest time of the simulated delivery; has no other effect. May be in the past.')
  shipDate?: string;

  @IsOptional()
  @OneOf(orderStatuses)
  @Description('Must be a valid status, but is ignored: the store sets it.')
  status?: OrderStatus;

  @IsOptional()
  @Flag()
  @Description('Ignored like `status`.')
  complete?: boolean;
}

export class Transfer {
  @Text()
  @Description('The new owner of the order.')
  username: string;
}

// Requests

export class PlaceOrder {
  @ObjectOf(() => NewOrder)
  order: NewOrder;
}

export class GetOrder {
  @Id()
  orderId: number;
}

/** Newest first. */
export class ListOrders extends PageRequest {
  @IsOptional()
  @ListOf(orderStatuses.length, 1)
  @SomeOf(orderStatuses, `must be one or more of ${orderStatuses.join(', ')}`)
  status?: OrderStatus[];

  @IsOptional()
  @Id()
  plantId?: number;

  @IsOptional()
  @Text()
  @Description('A username, or `*` for all users; requires `read:orders`. Default: the caller\'s own orders.')
  owner?: string;

  @IsOptional()
  @DateTime()
  @Description('Placed at this time or later.')
  placedFrom?: string;

  @IsOptional()
  @DateTime()
  @Description('Placed before this time.')
  placedBefore?: string;
}

/** Oldest first. */
export class GetTimeline extends PageRequest {
  @Id()
  orderId: number;
}

export class TransferOrder {
  @Id()
  orderId: number;

  @ObjectOf(() => Transfer)
  transfer: Transfer;

  @ExpectedVersion()
  ifVersion?: number;
}

export const orderStatus = oneOf<OrderStatus>(orderStatuses);
export const refundStatus = oneOf<RefundStatus>(refundStatuses);

export const orderAnswer = objectOf('Order')({
  id,
  basketId: optional(described(id, 'The basket that it was placed in. Absent: it was placed alone.')),
  plantId: id,
  quantity: integer(1, 1_000_000),
  shipDate: optional(instant),
  status: orderStatus,
  complete: described(boolean, 'Whether the order is delivered.'),
  placedAt: described(instant, 'When the order was placed.'),
  reservedUntil: optional(described(instant, 'The order is cancelled at this time unless it is paid. Absent: no payment is pending.')),
  carrier: optional(text(200)),
  trackingNumber: optional(text(200)),
  refund: optional(described(refundStatus, '`due`: a payment must be refunded. `completed`: it was refunded.')),
  owner: optional(
    described(
      text(200),
      "The owner's username: only when orders are read or listed with `read:orders`, unless the user was deleted. Responses to changes omit it.",
    ),
  ),
});

// Answers
export type Order = AnswerOf<typeof orderAnswer>;

const timelineEntryAnswer = objectOf('TimelineEntry', "One step in the history of an order.")({
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

/** One step in the history of an order. */
export type TimelineEntry = AnswerOf<typeof timelineEntryAnswer>;

const { read, write } = operationsOf<ErrorCode>('store');
const forClients = forClientsUnder('Store');

export const orderOperations = {
  /** Details of `insufficient-stock`: `available`; of `unpaid-limit`: `orders`, ids. */
  placeOrder: forClients(
    write<Order>()('placeOrder', PlaceOrder, {
      errors: [
        'plant-not-found',
        'plant-not-available',
        'insufficient-stock',
        'unpaid-limit',
        'order-exists',
        'customer-closed',
        'idempotency-key-reused',
      ],
      versioned: true,
    }),
    {
      route: 'POST /v3/store/order',
      access: permission('write:orders'),
      summary: 'Place an order',
      description:
        'Reserves the units at once. An order that is not paid in time is cancelled and its units return to stock. A customer can have 21 ' +
        'unpaid orders (by default), all but the first with 200 units in all. Send an Idempotency-Key to repeat the request without ordering twice.',
      body: jsonObject('order'),
      answer: orderAnswer,
    },
  ),
  /** `order-not-found` also for orders of others without `read:orders`. */
  getOrder: forClients(
    read<Order>()('getOrder', GetOrder, { errors: ['order-not-found'], versioned: true }),
    {
      route: 'GET /v3/store/order/:orderId',
      access: orderReader,
      summary: 'Read an order',
      description: "Other users' orders require `read:orders`; without it, the operation answers 404.",
      answer: orderAnswer,
    },
  ),
  /** Answers a page. `forbidden`: orders of others without `read:orders`. */
  listOrders: forClients(
    read<Order[]>()('listOrders', ListOrders, { errors: ['invalid-cursor', 'forbidden', 'user-not-found'] }),
    {
      route: 'GET /v3/store/order',
      access: orderReader,
      summary: 'List orders',
      description:
        'Newest first. Returns your own orders, or with `read:orders` those of the given `owner`, or of all users (`*`). Orders that are ' +
        'placed at the same moment may become visible one after the other, in any order: to miss none, follow the events `order.placed`, ' +
        'or read again from a minute before the newest order that you know (`placedFrom`).',
      query: ['status', 'plantId', 'owner', 'placedFrom', 'placedBefore', 'limit', 'cursor'],
      answer: listOf(orderAnswer, 1_000),
    },
  ),
  /** Answers a page, beginning with the placing. */
  getTimeline: forClients(
    read<TimelineEntry[]>()('getTimeline', GetTimeline, { errors: ['order-not-found', 'invalid-cursor'] }),
    {
      route: 'GET /v3/store/order/:orderId/timeline',
      access: orderReader,
      summary: 'Read the timeline of an order',
      description: 'Each step since the order was placed, oldest first, with time, actor, reason and event.',
      query: ['limit', 'cursor'],
      answer: listOf(timelineEntryAnswer, 1_000),
    },
  ),
  /** Transfers an open order to another user. */
  transferOrder: forClients(
    write<Order>()('transferOrder', TransferOrder, {
      errors: [
        'order-not-found',
        'user-not-found',
        'order-transition-refused',
        'customer-closed',
        'precondition-failed',
        'idempotency-key-reused',
      ],
      versioned: true,
    }),
    {
      route: 'POST /v3/store/order/:orderId/transfer',
      access: permission('manage:orders'),
      summary: 'Transfer an order to another user',
      description: 'Only placed and approved orders. Earlier events remain visible to the former owner; later ones go to the new owner.',
      body: jsonObject('transfer'),
      answer: orderAnswer,
    },
  ),
};
