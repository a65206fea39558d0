import { Controller, Inject, Injectable } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import { type Basket, type Order, type Payment, type ReportBasketPayment, type ReportPayment, store } from '@plant-shop/contracts/store';
import type { FeedMessage } from '@plant-shop/events/feed';
import { type Actor, actorOf, auditAll, type AuditedChange } from '@plant-shop/platform/patterns/audit-log';
import { Batcher, dropExpired } from '@plant-shop/platform/patterns/batcher';
import type { CodedError } from '@plant-shop/platform/errors';
import type { Deadline, IdempotencyKey, RpcContext } from '@plant-shop/platform/rpc/context';
import { IdempotentResults } from '@plant-shop/platform/patterns/idempotent-results';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import type { Replayed, Versioned } from '@plant-shop/platform/rpc/answer';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import { sizeHistogram } from '@plant-shop/platform/service/metrics';
import { Registry } from 'prom-client';
import { type CheckoutPolicy, STORE_OPTIONS, type StoreOptions } from '../config.js';
import { OrderFeed } from '../feed/order-feed.js';
import {
  type Amendment,
  approve,
  canTransition,
  declinePayment,
  markRefundDue,
  type OrderState,
  refundDueEvent,
  requireOrder,
  type StatusChange,
} from '../orders/order.js';
import type { BasketState } from '../orders/basket.js';
import { findBasket } from '../orders/baskets.repository.js';
import { changedBasket, versionedOrder, type Viewer } from '../orders/order.views.js';
import { findOrdersOfBasket, type LockedOrders, lockOrdersAndStock, type Traced, writeAmendments, writeStatusChanges } from '../orders/orders.repository.js';
import { decidePayment, type PaymentState } from './payment.js';
import { findPayments, findRefundIds, lockReferences, type PaymentId, savePayments, type StoredPayment } from './payments.repository.js';

/** What a payment pays. */
interface Payee {
  readonly orderIds: readonly [number, ...number[]];
  /** Absent: it pays one order. */
  readonly basket?: BasketState;
}

/** A provider's report of one payment. */
export interface PaymentReport extends Payee {
  readonly reference: string;
  readonly outcome: Payment['outcome'];
  readonly actor: Actor;
  /** The user whose credential authenticated the report. */
  readonly reporter: Viewer;
  readonly idempotency: IdempotencyKey | undefined;
  /** Trace context of the request; undefined: it is not traced. */
  readonly traceparent: string | undefined;
  /** The OAuth client that reported it for the user. */
  readonly clientId?: string | undefined;
}

interface ReportRequest extends PaymentReport {
  readonly deadline: Deadline;
}

type Answer = Versioned<Order> | Basket | Replayed;

/** The order or basket after the report, the saved answer of an earlier report with the same Idempotency-Key, or the refusal. */
export type PaymentResult = Answer | CodedError;

const maxBatch = 256;
/** The one lane. More lanes would have to be chosen by plant, which is unknown until the orders are read. */
const onlyLane = 0;

@Injectable()
export class PaymentsService {
  private readonly batcher: Batcher<ReportRequest, Answer>;

  constructor(
    private readonly database: Database,
    private readonly feed: OrderFeed,
    metrics: Registry,
    @Inject(STORE_OPTIONS) private readonly options: StoreOptions,
  ) {
    const onBatch = sizeHistogram(metrics, 'store_batch_payments', 'Payment reports per batch');
    this.batcher = new Batcher<ReportRequest, Answer>(
      { name: 'take payments', lanes: 1, maxBatch, onBatch },
      dropExpired<ReportRequest, Answer>('store', (batch) => this.applyBatch(batch)),
    );
  }

  /** The number of reports that wait for a batch. */
  get waiting(): number {
    return this.batcher.waiting;
  }

  /**
   * Records an external provider's report in the next batch. Resolves after the batch has committed. A repeated report changes
   * nothing.
   * @throws DomainError `order-not-found`; `payment-reference-used`; `order-not-payable`, after recording the refund that is due
   */
  report(context: RpcContext, orderId: number, payment: Payment): Promise<Versioned<Order> | Replayed> {
    return this.submit(context, { orderIds: [orderId] }, payment) as Promise<Versioned<Order> | Replayed>;
  }

  /**
   * Records a report for all orders of a basket.
   * @throws DomainError `basket-not-found`; otherwise as `report`
   */
  async reportForBasket(context: RpcContext, basketId: number, payment: Payment): Promise<Basket | Replayed> {
    // Orders never join or leave a basket.
    const [basket, orders] = await Promise.all([findBasket(this.database, basketId), findOrdersOfBasket(this.database, basketId)]);
    const [first, ...others] = orders.map(({ id }) => id);
    if (!basket || first === undefined) throw new DomainError('basket-not-found', `There is no basket ${basketId}.`);
    return this.submit(context, { basket, orderIds: [first, ...others] }, payment);
  }

  private submit(context: RpcContext, payee: Payee, { outcome, reference }: Payment): Promise<Answer> {
    const { principal, deadline, idempotency, traceparent, clientId } = context;
    return this.batcher.submit(onlyLane, {
      ...payee,
      outcome,
      reference,
      actor: actorOf(context),
      reporter: principal,
      deadline,
      idempotency,
      traceparent,
      clientId,
    });
  }

  private async applyBatch(batch: readonly ReportRequest[]): Promise<PaymentResult[]> {
    const { results, numbered } = await this.database.transaction((tx) => applyPaymentReports(tx, batch, this.options.checkout), {
      useGenericPlans: true,
    });
    this.feed.publish(numbered());
    return results;
  }
}

/**
 * Applies a batch of reports in one transaction, with the result of applying them one by one. Takes two round trips: the locks and
 * reads, in the order in which every transaction locks; then, after deciding in memory, the writes pipelined with the COMMIT. If a
 * refund becomes due, a third round trip between them reads its id.
 */
export async function applyPaymentReports(
  tx: Transaction,
  reports: readonly PaymentReport[],
  policy: CheckoutPolicy,
): Promise<{ readonly results: PaymentResult[]; readonly numbered: () => FeedMessage | undefined }> {
  const lockedKeys = IdempotentResults.lockAndRead(tx, reports.flatMap((one) => one.idempotency ?? []));
  const references = [...new Set(reports.map((one) => one.reference))];
  lockReferences(tx, references);
  const lockedOrders = lockOrdersAndStock(tx, [...new Set(reports.flatMap((one) => one.orderIds))]);
  const payments = findPayments(tx, references);
  const [answers, locked, known] = await Promise.all([lockedKeys, lockedOrders, payments]);
  const changes: BatchChanges = { payments: new KnownPayments(known), audited: [], unpaid: [], approved: [], settled: [] };
  const results = reports.map((report) => answers.answerOnce(report.idempotency, () => applyReport(report, locked, changes, policy)));
  auditAll(tx, changes.audited);
  savePayments(tx, changes.payments.changed);
  const withRefundIds = await refundIdsFor(tx, [...changes.unpaid, ...changes.settled], locked.at);
  writeAmendments(tx, changes.unpaid.map(withRefundIds), locked.at);
  // The event of a lone payment saves a transaction, a fifth of what the payment costs here. Those of a burst are numbered and sent together.
  const numbered = writeStatusChanges(tx, locked, changes.approved, { mayNumber: reports.length === 1 && changes.unpaid.length + changes.settled.length === 0 });
  writeAmendments(tx, changes.settled.map(withRefundIds), locked.at);
  answers.write(tx);
  return { results, numbered };
}

/** A step that leaves the status as it is. `refundOf`: the payment that became due for refund. */
type PaymentStep = Traced<Amendment> & { readonly refundOf?: PaymentId };

/** The changes that a batch collects, in order of arrival. They are written in the order of the members: of an order's versions. */
interface BatchChanges {
  readonly payments: KnownPayments;
  readonly audited: AuditedChange[];
  /** Of orders that await a payment. */
  readonly unpaid: PaymentStep[];
  readonly approved: Traced<StatusChange>[];
  /** Of orders that await none. */
  readonly settled: PaymentStep[];
}

/**
 * Applies one report to `orders` and to the collected changes. The orders of a basket are approved together or not at all.
 * @throws DomainError `order-not-found`; `payment-reference-used`; `order-not-payable`, after adding the refunds that are due to the changes
 */
function applyReport(
  report: PaymentReport,
  { orders, at }: LockedOrders,
  { payments, audited, unpaid, approved, settled }: BatchChanges,
  policy: CheckoutPolicy,
): Versioned<Order> | Basket {
  const { orderIds, basket, reference, reporter, traceparent, clientId } = report;
  const { subject: reportedBy } = reporter;
  const [firstId, ...otherIds] = orderIds;
  const orderOf = (orderId: number): OrderState => requireOrder(orderId, orders.get(orderId));
  const paid: readonly [OrderState, ...OrderState[]] = [orderOf(firstId), ...otherIds.map(orderOf)];
  const known = payments.find(reference);
  if (known.length > 0 && !isOf(known, orderIds)) throw referenceUsed(reference);
  const blocking = paid.find((order) => !canTransition(order, 'approve'));
  const { kind, state } = decidePayment(stateOf(known), report.outcome, blocking === undefined);
  if (kind === 'new') {
    payments.record(reference, orderIds, state);
    audited.push({ actor: report.actor, operation: basket ? store.reportBasketPayment : store.reportPayment, target: basket?.id ?? firstId });
    for (const order of paid) {
      const steps = order.status === 'placed' ? unpaid : settled;
      if (state === 'refund-due') steps.push({ ...markRefundDue(order, { actor: reportedBy, at }), refundOf: { orderId: order.id, reference }, traceparent, clientId });
      else if (state === 'failed') steps.push({ ...declinePayment(order, { actor: reportedBy, at }, policy), traceparent, clientId });
      else approved.push({ ...approve(order, { actor: reportedBy, at }, policy), traceparent, clientId });
      const after = (state === 'accepted' ? approved : steps).at(-1);
      if (after) orders.set(order.id, after.order);
    }
  }
  if (state === 'refund-due' || state === 'refunded') throw notPayable(basket, blocking ?? paid[0], state);
  return basket ? changedBasket(basket, orderIds.map(orderOf), reporter) : versionedOrder(orderOf(firstId), reporter);
}

/** Whether the payments are of exactly these orders. */
const isOf = (payments: readonly PaymentId[], orderIds: readonly number[]): boolean =>
  payments.length === orderIds.length && payments.every(({ orderId }) => orderIds.includes(orderId));

/** The most important first: staff may have cancelled, and the shop refunded, some orders of a basket since it was paid. */
const states: readonly PaymentState[] = ['accepted', 'refund-due', 'refunded', 'failed'];

/** Returns the state of the payments of one reference; undefined: there are none. */
const stateOf = (payments: readonly StoredPayment[]): PaymentState | undefined => states.find((state) => payments.some((one) => one.state === state));

/** Returns a function that adds id and event of its refund to a step. Refunds get their ids with their payments, which must be saved before. */
async function refundIdsFor(tx: Transaction, steps: readonly PaymentStep[], at: Date): Promise<(step: PaymentStep) => PaymentStep> {
  const refunds = steps.flatMap(({ refundOf }) => refundOf ?? []);
  const ids = refunds.length > 0 ? await findRefundIds(tx, refunds) : [];
  const idOf = new Map(refunds.map((refund, n) => [refund, ids[n]]));
  return (step) => {
    if (step.refundOf === undefined) return step;
    const refundId = idOf.get(step.refundOf);
    if (refundId === undefined) throw new Error(`payment ${step.refundOf.reference} of order ${step.order.id} is not saved`);
    return { ...step, refundId, event: refundDueEvent(refundId, step.order, at) };
  };
}

/** Payments by their reference: as stored, overlaid with the changes of this transaction. */
class KnownPayments {
  private readonly stored: ReadonlyMap<string, readonly StoredPayment[]>;
  private readonly recorded = new Map<string, readonly StoredPayment[]>();

  constructor(stored: readonly StoredPayment[]) {
    this.stored = Map.groupBy(stored, ({ reference }) => reference);
  }

  get changed(): readonly StoredPayment[] {
    return [...this.recorded.values()].flat();
  }

  find(reference: string): readonly StoredPayment[] {
    return this.recorded.get(reference) ?? this.stored.get(reference) ?? [];
  }

  record(reference: string, orderIds: readonly number[], state: PaymentState): void {
    this.recorded.set(reference, orderIds.map((orderId) => ({ orderId, reference, state })));
  }
}

/** Names no order: the caller may not see the other one. */
const referenceUsed = (reference: string): DomainError =>
  new DomainError('payment-reference-used', `The payment ${reference} was reported for another order. One reference pays one order, or one basket.`);

const notPayable = (basket: BasketState | undefined, { id, status }: OrderState, state: 'refund-due' | 'refunded'): DomainError =>
  new DomainError(
    'order-not-payable',
    (basket ? `Basket ${basket.id} accepts no payment, because order ${id} is ${status}. ` : `Order ${id} is ${status} and accepts no payment. `) +
      (state === 'refunded' ? 'This payment was refunded.' : `A refund of this payment is due${basket ? ' for each order' : ''}.`),
    state === 'refunded' ? {} : { payment: state },
  );

@Controller()
export class PaymentsController {
  constructor(private readonly payments: PaymentsService) {}

  @Answers(store.reportPayment)
  reportPayment({ orderId, payment }: ReportPayment, context: RpcContext): Promise<Versioned<Order> | Replayed> {
    return this.payments.report(context, orderId, payment);
  }

  @Answers(store.reportBasketPayment)
  reportBasketPayment({ basketId, payment }: ReportBasketPayment, context: RpcContext): Promise<Basket | Replayed> {
    return this.payments.reportForBasket(context, basketId, payment);
  }
}
