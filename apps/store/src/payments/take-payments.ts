import { DomainError } from '@plant-shop/contracts/errors';
import { type Order, type Payment, store } from '@plant-shop/contracts/store';
import { type Actor, audit } from '@plant-shop/platform/audit/audit-log';
import type { CodedError } from '@plant-shop/platform/errors';
import type { IdempotencyKey } from '@plant-shop/platform/idempotency/idempotency-key';
import { SavedAnswers } from '@plant-shop/platform/idempotency/saved-answers';
import type { Transaction } from '@plant-shop/platform/postgres/database';
import { type Replayed, Versioned } from '@plant-shop/platform/rpc/answer';
import type { CheckoutPolicy } from '../checkout/checkout.js';
import { orderNotFound } from '../orders/lock-order.js';
import { LockedOrders } from '../orders/locked-orders.js';
import { canMove, type OrderState, toOrder } from '../orders/order.js';
import { decidePayment, type PaymentState } from './payment.js';
import { findPayments, type KnownPayment, type PaymentId, savePayments } from './payments.repository.js';

/** What a provider says of one payment, by whoever reports it. */
export interface PaymentReport extends PaymentId {
  readonly outcome: Payment['outcome'];
  readonly actor: Actor;
  /** The user whose credential the report came with. */
  readonly reportedBy: string;
  readonly idempotency: IdempotencyKey | undefined;
  /** The span that it is reported in, when that is traced. */
  readonly traceparent: string | undefined;
}

/** What became of one report: the order as it is then, the answer that its twin got, or why not. */
export type PaymentResult = Versioned<Order> | Replayed | CodedError;

/**
 * Takes a batch of reports in one transaction, as if they came one at a time, in two round trips: locks and reads, in the
 * order in which everybody locks; then the decisions in memory; then the writes, with the COMMIT behind them.
 */
export async function takePayments(
  tx: Transaction,
  reports: readonly PaymentReport[],
  policy: CheckoutPolicy,
): Promise<PaymentResult[]> {
  const [saved, orders, known] = await Promise.all([
    SavedAnswers.lock(tx, reports.flatMap((one) => one.idempotency ?? [])),
    LockedOrders.lock(tx, [...new Set(reports.map((one) => one.orderId))]),
    findPayments(tx, reports),
  ]);
  const payments = new Payments(known);
  const results = reports.map((report) =>
    saved.settle(report.idempotency, () => take(tx, report, { orders, payments, policy })),
  );
  orders.write(tx);
  savePayments(tx, payments.fresh);
  orders.writeOwed(tx);
  saved.write(tx);
  return results;
}

interface Found {
  readonly orders: LockedOrders;
  readonly payments: Payments;
  readonly policy: CheckoutPolicy;
}

/** @returns a refusal instead of throwing it: that a refund is due is noted all the same, and its neighbours go on */
function take(tx: Transaction, report: PaymentReport, { orders, payments, policy }: Found): Versioned<Order> | DomainError {
  const { orderId, reportedBy, traceparent } = report;
  const order = orders.get(orderId);
  if (!order) return orderNotFound(orderId);
  const { kind, state } = decidePayment(payments.stateOf(report), report.outcome, canMove(order, 'approve'));
  if (kind === 'new') {
    payments.note(report, state);
    audit(tx, report.actor, store.reportPayment, orderId);
  }
  if (kind === 'new' && state === 'refund-due') orders.owe(order, { reference: report.reference, actor: reportedBy, traceparent });
  if (state === 'refund-due' || state === 'refunded') return notPayable(order, state);
  if (kind === 'known' || state === 'failed') return versioned(order);
  const move = { orderId, move: 'approve', actor: reportedBy, reason: 'payment succeeded', traceparent } as const;
  return versioned(orders.move(move, policy) ?? order);
}

/** Payments as they are known, and what this transaction makes of them. */
class Payments {
  private readonly known: ReadonlyMap<string, PaymentState>;
  private readonly noted = new Map<string, KnownPayment>();

  constructor(known: readonly KnownPayment[]) {
    this.known = new Map(known.map((one) => [keyOf(one), one.state]));
  }

  get fresh(): readonly KnownPayment[] {
    return [...this.noted.values()];
  }

  stateOf(payment: PaymentId): PaymentState | undefined {
    return this.noted.get(keyOf(payment))?.state ?? this.known.get(keyOf(payment));
  }

  note({ orderId, reference }: PaymentId, state: PaymentState): void {
    this.noted.set(keyOf({ orderId, reference }), { orderId, reference, state });
  }
}

const keyOf = ({ orderId, reference }: PaymentId): string => `${orderId} ${reference}`;

const versioned = (order: OrderState): Versioned<Order> => new Versioned(toOrder(order), order.version);

const notPayable = (order: OrderState, state: 'refund-due' | 'refunded'): DomainError =>
  new DomainError(
    'order-not-payable',
    `Order ${order.id} is ${order.status} and takes no payment. ${state === 'refunded' ? 'This one was given back.' : 'A refund of this one is due.'}`,
    state === 'refunded' ? {} : { payment: state },
  );
