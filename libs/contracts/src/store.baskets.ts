import { operationsOf } from '@plant-shop/platform/rpc/operation';
import { IsOptional } from 'class-validator';
import { orderReader, permission } from './permissions.js';
import { type AnswerOf, described, id, instant, listOf, metadata, objectOf, optional, text } from './answers.js';
import { forClientsUnder, jsonObject } from './client-operation.js';
import type { ErrorCode } from './errors.js';
import { DateTime, Id, Integer, ObjectOf, ObjectsOf } from './fields.js';
import { Description } from './schema.js';
import { orderAnswer, orderStatus, OwnerData, shipToAnswer } from './store.orders.js';
import { Payment } from './store.payments.js';

// Baskets: orders that are placed, cancelled and paid together.

// Sent by clients

export class BasketLine {
  @Id()
  plantId: number;

  @IsOptional()
  @Integer(1, 1_000_000)
  @Description('1 if absent.')
  quantity?: number;
}

export const maxBasketLines = 50;

export class NewBasket extends OwnerData {
  @ObjectsOf(() => BasketLine, { size: maxBasketLines, min: 1 })
  @Description('Each becomes an order. A plant may be in several lines.')
  lines: BasketLine[];

  @IsOptional()
  @DateTime()
  @Description('Of all orders.')
  shipDate?: string;
}

// Requests

export class PlaceBasket {
  @ObjectOf(() => NewBasket)
  basket: NewBasket;
}

export class GetBasket {
  @Id()
  basketId: number;
}

export class CancelBasket {
  @Id()
  basketId: number;
}

export class ReportBasketPayment {
  @Id()
  basketId: number;

  @ObjectOf(() => Payment)
  payment: Payment;
}

const basketAnswer = objectOf('Basket', 'Orders that were placed together.')({
  id,
  status: described(orderStatus, 'Of the order that is least advanced. Cancelled orders count only if all are cancelled.'),
  orders: described(listOf(orderAnswer, maxBasketLines), 'In the order of the lines. Without those that were transferred to users whose orders you may not read.'),
  externalId: optional(text(200)),
  metadata: optional(metadata),
  shipTo: optional(described(shipToAnswer, 'Of the first order.')),
  placedAt: instant,
});

// Answers
export type Basket = AnswerOf<typeof basketAnswer>;

const { read, write } = operationsOf<ErrorCode>('store');
const forClients = forClientsUnder('Store');

export const basketOperations = {
  placeBasket: forClients(
    write<Basket>()('placeBasket', PlaceBasket, {
      errors: [
        'plant-not-found',
        'plant-not-available',
        'insufficient-stock',
        'unpaid-limit',
        'external-id-exists',
        'customer-closed',
        'idempotency-key-reused',
      ],
    }),
    {
      route: 'POST /v3/store/basket',
      batched: true,
      access: permission('write:orders'),
      summary: 'Place a basket of orders',
      description:
        'Places one order for each line, or nothing: a refusal names all `lines` that caused it. The orders are like any others, and count as unpaid ' +
        'orders each. Unpaid, they expire together. Send an Idempotency-Key to repeat the request without ordering twice.',
      body: jsonObject('basket'),
      problemMembers: {
        'plant-not-found': ['lines'],
        'plant-not-available': ['lines'],
        'insufficient-stock': ['lines'],
        'external-id-exists': ['basketId'],
      },
      answer: basketAnswer,
    },
  ),
  /** `basket-not-found` also for baskets of others without `read:orders`. */
  getBasket: forClients(read<Basket>()('getBasket', GetBasket, { errors: ['basket-not-found'] }), {
    route: 'GET /v3/store/basket/:basketId',
    access: orderReader,
    summary: 'Read a basket',
    description: "Other users' baskets require `read:orders`; without it, the operation answers 404.",
    answer: basketAnswer,
  }),
  /** Cancelling again answers the same basket. */
  cancelBasket: forClients(
    write<Basket>()('cancelBasket', CancelBasket, { errors: ['basket-not-found', 'forbidden', 'order-not-cancellable'] }),
    {
      route: 'DELETE /v3/store/basket/:basketId',
      access: permission('write:orders', 'manage:orders'),
      summary: 'Cancel all orders of a basket',
      problemMembers: { 'order-not-cancellable': ['orders'] },
      description: 'Cancels all that are placed, or none if one was approved: the refusal names those `orders`. Cancelling again returns the same basket.',
      answer: basketAnswer,
    },
  ),
  /** As `reportPayment`, for all orders. */
  reportBasketPayment: forClients(
    write<Basket>()('reportBasketPayment', ReportBasketPayment, {
      errors: ['basket-not-found', 'order-not-payable', 'payment-reference-used', 'idempotency-key-reused'],
    }),
    {
      route: 'POST /v3/store/basket/:basketId/payment',
      access: permission('write:payments'),
      summary: 'Report the outcome of a payment for a basket',
      description:
        'For payment providers. Approves all orders. If one of them awaits no payment, none is approved, and a refund becomes due for each order.',
      body: jsonObject('payment'),
      answer: basketAnswer,
    },
  ),
};
