import { Inject, Injectable } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import { type Order, type Payment, store } from '@plant-shop/contracts/store';
import { type Actor, actorOf, audit } from '@plant-shop/platform/audit/audit-log';
import type { CodedError } from '@plant-shop/platform/errors';
import type { IdempotencyKey } from '@plant-shop/platform/idempotency/idempotency-key';
import { SavedAnswers } from '@plant-shop/platform/idempotency/saved-answers';
import { Batcher, dropExpired } from '@plant-shop/platform/batcher';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import { type Replayed, Versioned } from '@plant-shop/platform/rpc/answer';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import type { Deadline } from '@plant-shop/platform/rpc/deadline';
import { sizeHistogram } from '@plant-shop/platform/service/metrics';
import { Registry } from 'prom-client';
import { OrderFeed } from '../feed/order-feed.js';
import { STORE_OPTIONS, type StoreOptions } from '../options.js';
import { approve, canMove, type CheckoutPolicy, existing, type OrderState, oweRefund, refundDue, type StatusChange, toOrder } from '../orders/order.js';
import { lockOrdersAndStock, type LockedOrders, type Traced, writeRefundsDue, writeStatusChanges } from '../orders/orders.repository.js';
import { decidePayment, type PaymentState } from './payment.js';
import { findPayments, findRefundIds, type KnownPayment, type PaymentId, savePayments } from './payments.repository.js';

/** What a provider says of one payment. */
export interface PaymentReport extends PaymentId {
  readonly outcome: Payment['outcome'];
  readonly actor: Actor;
  /** The user whose credential the report came with. */
  readonly reportedBy: string;
  readonly idempotency: IdempotencyKey | undefined;
  /** The span of the request; undefined when it is not traced. */
  readonly traceparent: string | undefined;
}

interface ReportRequest extends PaymentReport {
  readonly deadline: Deadline;
}

type Answer = Versioned<Order> | Replayed;

/** The order as it is then, the answer that an earlier report with the same key got, or why the report is refused. */
export type PaymentResult = Answer | CodedError;

const maxBatch = 256;
/** There is one lane: which plants a batch touches is not known before its orders are read. */
const theLane = 0;

@Injectable()
export class PaymentsService {
  private readonly lanes: Batcher<ReportRequest, Answer>;

  constructor(
    private readonly database: Database,
    private readonly feed: OrderFeed,
    metrics: Registry,
    @Inject(STORE_OPTIONS) private readonly options: StoreOptions,
  ) {
    const onBatch = sizeHistogram(metrics, 'store_batch_payments', 'Payment reports that were taken together');
    this.lanes = new Batcher<ReportRequest, Answer>(
      { name: 'take payments', lanes: 1, maxBatch, onBatch },
      dropExpired<ReportRequest, Answer>('store', (batch) => this.takeAll(batch)),
    );
  }

  /** Reports that wait for a batch. */
  get waiting(): number {
    return this.lanes.waiting;
  }

  /**
   * Takes what an external provider reports; answered after its batch has committed. Reporting it again changes nothing.
   * @throws DomainError `order-not-found`; `order-not-payable`, the refund that is due is noted all the same
   */
  report(context: RpcContext, orderId: number, { outcome, reference }: Payment): Promise<Answer> {
    const { caller, deadline, idempotency, traceparent } = context;
    return this.lanes.submit(theLane, {
      orderId,
      outcome,
      reference,
      actor: actorOf(context),
      reportedBy: caller.subject,
      deadline,
      idempotency,
      traceparent,
    });
  }

  private async takeAll(batch: readonly ReportRequest[]): Promise<PaymentResult[]> {
    const results = await this.database.transaction((tx) => takePayments(tx, batch, this.options.checkout), { useGenericPlans: true });
    this.feed.appended();
    return results;
  }
}

/**
 * Takes a batch of reports in one transaction, as if they came one at a time, in two round trips: locks and reads, in the
 * order in which every transaction locks; then the decisions in memory; then the writes, with the COMMIT behind them.
 */
export async function takePayments(
  tx: Transaction,
  reports: readonly PaymentReport[],
  policy: CheckoutPolicy,
): Promise<PaymentResult[]> {
  const [answers, locked, known] = await Promise.all([
    SavedAnswers.lock(tx, reports.flatMap((one) => one.idempotency ?? [])),
    lockOrdersAndStock(tx, [...new Set(reports.map((one) => one.orderId))]),
    findPayments(tx, reports),
  ]);
  const taken: Taken = { payments: new Payments(known), approved: [], owed: [] };
  const results = reports.map((report) => answers.answerOnce(report.idempotency, () => take(tx, report, locked, taken, policy)));
  writeStatusChanges(tx, locked, taken.approved);
  savePayments(tx, taken.payments.fresh);
  await writeOwed(tx, locked.at, taken.owed);
  answers.write(tx);
  return results;
}

/** A step of an order whose payment is owed back. */
type Owed = Traced & PaymentId;

/** What the reports of a batch change, in order of arrival. */
interface Taken {
  readonly payments: Payments;
  readonly approved: Traced<StatusChange>[];
  readonly owed: Owed[];
}

/** @throws DomainError `order-not-found`; `order-not-payable`, and the refund that is due is noted all the same */
function take(
  tx: Transaction,
  report: PaymentReport,
  { orders, at }: LockedOrders,
  { payments, approved, owed }: Taken,
  policy: CheckoutPolicy,
): Versioned<Order> {
  const { orderId, reference, reportedBy, traceparent } = report;
  const order = existing(orderId, orders.get(orderId));
  const { kind, state } = decidePayment(payments.stateOf(report), report.outcome, canMove(order, 'approve'));
  if (kind === 'new') {
    payments.note(report, state);
    audit(tx, report.actor, store.reportPayment, orderId);
  }
  if (kind === 'new' && state === 'refund-due') {
    const step = oweRefund(order, reportedBy);
    orders.set(orderId, step.order);
    owed.push({ ...step, orderId, reference, traceparent });
  }
  if (state === 'refund-due' || state === 'refunded') throw notPayable(order, state);
  if (kind === 'known' || state === 'failed') return versioned(order);
  const change = approve(order, { actor: reportedBy, at }, policy);
  orders.set(orderId, change.order);
  approved.push({ ...change, traceparent });
  return versioned(change.order);
}

/** Refunds are numbered with their payments, which are saved by now. */
async function writeOwed(tx: Transaction, at: Date, owed: readonly Owed[]): Promise<void> {
  if (owed.length === 0) return;
  const refundIds = await findRefundIds(tx, owed);
  const steps = owed.map((step, n) => {
    const refundId = refundIds[n];
    if (refundId === undefined) throw new Error(`payment ${step.reference} of order ${step.orderId} is not saved`);
    return { ...step, refundId, event: refundDue(refundId, step.order, at) };
  });
  writeRefundsDue(tx, at, steps);
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
