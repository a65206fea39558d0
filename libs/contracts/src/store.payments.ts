import { operationsOf } from '@plant-shop/platform/rpc/operation';
import { IsOptional } from 'class-validator';
import { permission } from './permissions.js';
import { type AnswerOf, described, id, instant, listOf, objectOf, optional, text } from './answers.js';
import { forClientsUnder, jsonObject } from './client-operation.js';
import type { ErrorCode } from './errors.js';
import { Id, ObjectOf, OneOf, PageRequest, VisibleText } from './fields.js';
import { Description } from './schema.js';
import { type Order, orderAnswer, refundStatus, type RefundStatus, refundStatuses } from './store.orders.js';

// Payments, and the refunds of those that arrive too late or twice.

// Sent by clients

export class Payment {
  @OneOf(['succeeded', 'failed'])
  outcome: 'succeeded' | 'failed';

  @VisibleText()
  @Description("The provider's reference of this payment, which is of one order or one basket. Reporting it twice has no further effect.")
  reference: string;
}

export class RefundCompletion {
  @VisibleText()
  @Description("The provider's reference of the transfer that returned the money of this refund, or of several of one basket. Reporting it twice has no further effect.")
  reference: string;
}

// Requests

export class ReportPayment {
  @Id()
  orderId: number;

  @ObjectOf(() => Payment)
  payment: Payment;
}

/** The latest to become due first. */
export class ListRefunds extends PageRequest {
  @IsOptional()
  @OneOf(refundStatuses)
  status?: RefundStatus;
}

export class GetRefund {
  @Id()
  refundId: number;
}

export class CompleteRefund {
  @Id()
  refundId: number;

  @ObjectOf(() => RefundCompletion)
  completion: RefundCompletion;
}

const refundAnswer = objectOf('Refund', 'A payment that arrived too late or twice and must be returned.')({
  id,
  orderId: id,
  status: refundStatus,
  paymentReference: described(text(200), "The provider's reference of the payment."),
  dueAt: described(instant, 'When it became due.'),
  completedAt: optional(instant),
  reference: optional(described(text(200), "The provider's reference of the transfer that returned the money.")),
});

// Answers

/** A payment that arrived too late or twice and must be returned. */
export type Refund = AnswerOf<typeof refundAnswer>;

const { read, write } = operationsOf<ErrorCode>('store');
const forClients = forClientsUnder('Store');

export const paymentOperations = {
  /**
   * A failed payment leaves the status as it is; the simulated provider then does not approve the order. `order-not-payable`: the payment arrived too late or twice and was recorded
   * as a due refund.
   */
  reportPayment: forClients(
    write<Order>()('reportPayment', ReportPayment, {
      errors: ['order-not-found', 'order-not-payable', 'payment-reference-used', 'idempotency-key-reused'],
      versioned: true,
    }),
    {
      route: 'POST /v3/store/order/:orderId/payment',
      batched: true,
      access: permission('write:payments'),
      summary: 'Report the outcome of a payment',
      description: 'For payment providers. A failed payment appears in the timeline; the order can be paid until it expires. ' +
        'A payment that comes too late or twice is refused, and a refund becomes due.',
      body: jsonObject('payment'),
      answer: orderAnswer,
    },
  ),
  /** Answers a page. */
  listRefunds: forClients(
    read<Refund[]>()('listRefunds', ListRefunds, { errors: ['invalid-cursor'] }),
    {
      route: 'GET /v3/store/refund',
      access: permission('write:payments'),
      summary: 'List refunds',
      description: 'The latest to become due comes first, also among completed refunds. A refund becomes due when a payment succeeds for an order that is cancelled or already paid.',
      query: ['status', 'limit', 'cursor'],
      answer: listOf(refundAnswer, 1_000),
    },
  ),
  getRefund: forClients(
    read<Refund>()('getRefund', GetRefund, { errors: ['refund-not-found'] }),
    {
      route: 'GET /v3/store/refund/:refundId',
      access: permission('write:payments'),
      summary: 'Read a refund',
      answer: refundAnswer,
    },
  ),
  /** Repeating a reference answers the same refund. `refund-completed`: it was completed with another reference. */
  completeRefund: forClients(
    write<Refund>()('completeRefund', CompleteRefund, {
      errors: ['refund-not-found', 'refund-completed', 'refund-reference-used', 'idempotency-key-reused'],
    }),
    {
      route: 'POST /v3/store/refund/:refundId/completion',
      access: permission('write:payments'),
      summary: 'Complete a refund',
      description: 'Reports that the money was returned. Repeating the same reference returns the same refund; another reference is refused.',
      body: jsonObject('completion'),
      answer: refundAnswer,
    },
  ),
};
