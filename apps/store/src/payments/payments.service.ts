import { Controller, Inject, Injectable } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import { type Order, type Payment, type ReportPayment, store } from '@plant-shop/contracts/store';
import { type Actor, actorOf, audit } from '@plant-shop/platform/patterns/audit-log';
import { Batcher, dropExpired } from '@plant-shop/platform/patterns/batcher';
import type { CodedError } from '@plant-shop/platform/errors';
import type { IdempotencyKey } from '@plant-shop/platform/patterns/idempotency-key';
import { IdempotentResults } from '@plant-shop/platform/patterns/idempotent-results';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import type { Replayed, Versioned } from '@plant-shop/platform/rpc/answer';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import type { Deadline, RpcContext } from '@plant-shop/platform/rpc/context';
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
import { versionedOrder, type Viewer } from '../orders/order.views.js';
import { type LockedOrders, lockOrdersAndStock, type Traced, writeAmendments, writeStatusChanges } from '../orders/orders.repository.js';
import { decidePayment, type PaymentState } from './payment.js';
import { findPayments, findRefundIds, lockReferences, type PaymentId, savePayments, type StoredPayment } from './payments.repository.js';

/** A provider's report of one payment. */
export interface PaymentReport extends PaymentId {
  readonly outcome: Payment['outcome'];
  readonly actor: Actor;
  /** The user whose credential authenticated the report. */
  readonly reporter: Viewer;
  readonly idempotency: IdempotencyKey | undefined;
  /** Trace context of the request; undefined: it is not traced. */
  readonly traceparent: string | undefined;
}

interface ReportRequest extends PaymentReport {
  readonly deadline: Deadline;
}

type Answer = Versioned<Order> | Replayed;

/** The order after the report, the saved answer of an earlier report with the same Idempotency-Key, or the refusal. */
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
  report(context: RpcContext, orderId: number, { outcome, reference }: Payment): Promise<Answer> {
    const { principal, deadline, idempotency, traceparent } = context;
    return this.batcher.submit(onlyLane, {
      orderId,
      outcome,
      reference,
      actor: actorOf(context),
      reporter: principal,
      deadline,
      idempotency,
      traceparent,
    });
  }

  private async applyBatch(batch: readonly ReportRequest[]): Promise<PaymentResult[]> {
    const results = await this.database.transaction((tx) => applyPaymentReports(tx, batch, this.options.checkout), {
      useGenericPlans: true,
    });
    this.feed.notify();
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
): Promise<PaymentResult[]> {
  const lockedKeys = IdempotentResults.lockAndRead(tx, reports.flatMap((one) => one.idempotency ?? []));
  const references = [...new Set(reports.map((one) => one.reference))];
  lockReferences(tx, references);
  const lockedOrders = lockOrdersAndStock(tx, [...new Set(reports.map((one) => one.orderId))]);
  const payments = findPayments(tx, references);
  const [answers, locked, known] = await Promise.all([lockedKeys, lockedOrders, payments]);
  const changes: BatchChanges = { payments: new KnownPayments(known), declined: [], approved: [], late: [] };
  const results = reports.map((report) => answers.answerOnce(report.idempotency, () => applyReport(tx, report, locked, changes, policy)));
  writeAmendments(tx, changes.declined, locked.at);
  writeStatusChanges(tx, locked, changes.approved);
  savePayments(tx, changes.payments.changed);
  await writeLate(tx, locked.at, changes.late);
  answers.write(tx);
  return results;
}

/** The step of an order that awaits no payment. `refundOf`: the reference of the payment that became due for refund. */
type LateStep = Traced<Amendment> & { readonly refundOf?: string };

/** The changes that a batch collects, in order of arrival. They are written in the order of the members: of an order's versions. */
interface BatchChanges {
  readonly payments: KnownPayments;
  /** Failed payments of orders that await one. */
  readonly declined: Traced<Amendment>[];
  readonly approved: Traced<StatusChange>[];
  readonly late: LateStep[];
}

/**
 * Applies one report to `orders` and to the collected changes.
 * @throws DomainError `order-not-found`; `payment-reference-used`; `order-not-payable`, after adding the refund that is due to the changes
 */
function applyReport(
  tx: Transaction,
  report: PaymentReport,
  { orders, at }: LockedOrders,
  { payments, declined, approved, late }: BatchChanges,
  policy: CheckoutPolicy,
): Versioned<Order> {
  const { orderId, reference, reporter, traceparent } = report;
  const { subject: reportedBy } = reporter;
  const order = requireOrder(orderId, orders.get(orderId));
  const known = payments.find(reference);
  if (known && known.orderId !== orderId) throw referenceUsed(reference);
  const { kind, state } = decidePayment(known?.state, report.outcome, canTransition(order, 'approve'));
  if (kind === 'new') {
    payments.record(report, state);
    audit(tx, report.actor, store.reportPayment, orderId);
  }
  if (kind === 'new' && state === 'refund-due') {
    const step = markRefundDue(order, { actor: reportedBy, at });
    orders.set(orderId, step.order);
    late.push({ ...step, refundOf: reference, traceparent });
  }
  if (state === 'refund-due' || state === 'refunded') throw notPayable(order, state);
  if (kind === 'known') return versionedOrder(order, reporter);
  if (state === 'failed') {
    const step = declinePayment(order, { actor: reportedBy, at }, policy);
    orders.set(orderId, step.order);
    (order.status === 'placed' ? declined : late).push({ ...step, traceparent });
    return versionedOrder(step.order, reporter);
  }
  const change = approve(order, { actor: reportedBy, at }, policy);
  orders.set(orderId, change.order);
  approved.push({ ...change, traceparent });
  return versionedOrder(change.order, reporter);
}

/** Writes the late steps. Refunds get their ids with their payments, which must be saved before. */
async function writeLate(tx: Transaction, at: Date, late: readonly LateStep[]): Promise<void> {
  const references = late.flatMap(({ refundOf }) => refundOf ?? []);
  const refundIds = references.length > 0 ? await findRefundIds(tx, references) : [];
  const steps = late.map((step) => {
    if (step.refundOf === undefined) return step;
    const refundId = refundIds[references.indexOf(step.refundOf)];
    if (refundId === undefined) throw new Error(`payment ${step.refundOf} of order ${step.order.id} is not saved`);
    return { ...step, refundId, event: refundDueEvent(refundId, step.order, at) };
  });
  writeAmendments(tx, steps, at);
}

/** Payments by their reference: as stored, overlaid with the changes of this transaction. */
class KnownPayments {
  private readonly stored: ReadonlyMap<string, StoredPayment>;
  private readonly recorded = new Map<string, StoredPayment>();

  constructor(stored: readonly StoredPayment[]) {
    this.stored = new Map(stored.map((one) => [one.reference, one]));
  }

  get changed(): readonly StoredPayment[] {
    return [...this.recorded.values()];
  }

  find(reference: string): StoredPayment | undefined {
    return this.recorded.get(reference) ?? this.stored.get(reference);
  }

  record({ orderId, reference }: PaymentId, state: PaymentState): void {
    this.recorded.set(reference, { orderId, reference, state });
  }
}

/** Names no order: the caller may not see the other one. */
const referenceUsed = (reference: string): DomainError =>
  new DomainError('payment-reference-used', `The payment ${reference} was reported for another order. One reference pays one order.`);

const notPayable = (order: OrderState, state: 'refund-due' | 'refunded'): DomainError =>
  new DomainError(
    'order-not-payable',
    `Order ${order.id} is ${order.status} and accepts no payment. ` +
      (state === 'refunded' ? 'This payment was refunded.' : 'A refund of this payment is due.'),
    state === 'refunded' ? {} : { payment: state },
  );

@Controller()
export class PaymentsController {
  constructor(private readonly payments: PaymentsService) {}

  @Answers(store.reportPayment)
  reportPayment({ orderId, payment }: ReportPayment, context: RpcContext): Promise<Versioned<Order> | Replayed> {
    return this.payments.report(context, orderId, payment);
  }
}
