import { operationsOf } from '@plant-shop/platform/rpc/operation';
import { applyDecorators } from '@nestjs/common';
import { IsOptional, ValidateBy } from 'class-validator';
import { orderReader, permission } from './permissions.js';
import { type AnswerOf, boolean, described, id, instant, integer, listOf, metadata, objectOf, oneOf, optional, text } from './answers.js';
import { maxPhotoUrls } from './catalog.plants.js';
import { forClientsUnder, jsonObject } from './client-operation.js';
import type { ErrorCode } from './errors.js';
import {
  DateTime,
  ExpectedVersion,
  ExternalId,
  Flag,
  Id,
  IdToAssign,
  Integer,
  ListOf,
  Metadata,
  ObjectOf,
  OneOf,
  SomeOf,
  Text,
  Texts,
} from './fields.js';
import { Description } from './schema.js';

// Orders: placing, reading and transferring them. Lists are in store.order-lists.ts, timelines in store.timeline.ts, and what ends an order in
// store.fulfilment.ts.

export const orderStatuses = ['placed', 'approved', 'delivered', 'cancelled'] as const;
export type OrderStatus = (typeof orderStatuses)[number];

export const refundStatuses = ['due', 'completed'] as const;
export type RefundStatus = (typeof refundStatuses)[number];

// Sent by clients

/** The shop keeps it for the packing slip and reads nothing into it. */
export class ShipTo {
  @IsOptional()
  @Text()
  name?: string;

  @IsOptional()
  @Texts(6)
  lines?: string[];

  @IsOptional()
  @Text()
  postalCode?: string;

  @IsOptional()
  @Text()
  city?: string;

  @IsOptional()
  @Text()
  country?: string;
}

const longestShipTo = 500;
const lengthOf = (shipTo: unknown): number =>
  Object.values(shipTo ?? {}).flat().reduce<number>((sum, one) => sum + (typeof one === 'string' ? one.length : 0), 0);

export const ToShipTo = (): PropertyDecorator =>
  applyDecorators(
    IsOptional(),
    ObjectOf(() => ShipTo),
    ValidateBy({
      name: 'shipToLength',
      validator: {
        validate: (value) => lengthOf(value) <= longestShipTo,
        defaultMessage: () => `must have at most ${longestShipTo} characters in all`,
      },
    }),
    Description(`Where the units go. At most ${longestShipTo} characters in all.`),
  );

/** What the owner adds to an order, or to a basket. */
export class OwnerData {
  @IsOptional()
  @ExternalId()
  externalId?: string;

  @IsOptional()
  @Metadata()
  metadata?: Readonly<Record<string, string>>;

  @ToShipTo()
  shipTo?: ShipTo;
}

export class NewOrder extends OwnerData {
  @IdToAssign()
  id?: number;

  @Id()
  plantId: number;

  @IsOptional()
  @Integer(1, 1_000_000)
  @Description('1 if absent.')
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

export const orderExpansions = ['plant'] as const;
export type OrderExpansion = (typeof orderExpansions)[number];

export const Expand = (): PropertyDecorator =>
  applyDecorators(
    IsOptional(),
    ListOf(orderExpansions.length, 1),
    SomeOf(orderExpansions, `must be ${orderExpansions.join(', ')}`),
    Description('`plant`: id, name and pictures of the plant, unless it was deleted.'),
  );

export class GetOrder {
  @Id()
  orderId: number;

  @Expand()
  expand?: OrderExpansion[];
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

export const shipToAnswer = objectOf('OrderShipTo')({
  name: optional(text(200)),
  lines: optional(listOf(text(200), 6)),
  postalCode: optional(text(200)),
  city: optional(text(200)),
  country: optional(text(200)),
});

const orderPlantAnswer = objectOf('OrderPlant')({ id, name: text(200), photoUrls: listOf(text(2_048), maxPhotoUrls) });
export type OrderPlant = AnswerOf<typeof orderPlantAnswer>;

export const orderAnswer = objectOf('Order')({
  id,
  basketId: optional(described(id, 'The basket that it was placed in. Absent: it was placed alone.')),
  plantId: id,
  quantity: integer(1, 1_000_000),
  shipDate: optional(instant),
  status: orderStatus,
  complete: described(boolean, 'Whether the order is delivered.'),
  placedAt: described(instant, 'When the order was placed.'),
  updatedAt: described(instant, 'When the order last changed.'),
  reservedUntil: optional(described(instant, 'The order is cancelled at this time unless it is paid. Absent: no payment is pending.')),
  carrier: optional(described(text(200), 'Who has the parcel. Absent: the order is not shipped.')),
  trackingNumber: optional(described(text(200), 'Assigned on approval. A shipment replaces it.')),
  refund: optional(described(refundStatus, '`due`: a payment must be refunded. `completed`: it was refunded.')),
  externalId: optional(described(text(200), "The id in the owner's system. No other order of the owner has it.")),
  metadata: optional(metadata),
  shipTo: optional(described(shipToAnswer, 'Like `externalId` and `metadata`, only for the owner and with `read:orders`.')),
  plant: optional(described(orderPlantAnswer, 'Only with `expand=plant`. Absent: it was deleted.')),
  owner: optional(
    described(
      text(200),
      "The owner's username: only when orders are read or listed with `read:orders`, unless the user was deleted. Responses to changes omit it.",
    ),
  ),
});

// Answers
export type Order = AnswerOf<typeof orderAnswer>;

const { read, write } = operationsOf<ErrorCode>('store');
const forClients = forClientsUnder('Store');

export const orderOperations = {
  /** Details of `insufficient-stock`: `available`, if the caller may know it; of `unpaid-limit`: `orders`, ids; of `external-id-exists`: `orderId`. */
  placeOrder: forClients(
    write<Order>()('placeOrder', PlaceOrder, {
      errors: [
        'plant-not-found',
        'plant-not-available',
        'insufficient-stock',
        'unpaid-limit',
        'order-exists',
        'external-id-exists',
        'customer-closed',
        'idempotency-key-reused',
      ],
      versioned: true,
    }),
    {
      route: 'POST /v3/store/order',
      batched: true,
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
      query: ['expand'],
      answer: orderAnswer,
    },
  ),
  /** Transfers an open order to another user. Details of `external-id-exists`: `orderId`, only for callers who may see that order. */
  transferOrder: forClients(
    write<Order>()('transferOrder', TransferOrder, {
      errors: [
        'order-not-found',
        'user-not-found',
        'order-transition-refused',
        'external-id-exists',
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
      description:
        'Only placed and approved orders. Earlier events remain visible to the former owner; later ones go to the new owner, who also sees ' +
        'external id, metadata and `shipTo`.',
      body: jsonObject('transfer'),
      answer: orderAnswer,
    },
  ),
};
