import { Inject, Injectable } from '@nestjs/common';
import type { Order, Payment } from '@plant-shop/contracts/store';
import { actorOf } from '@plant-shop/platform/audit/audit-log';
import { Lanes, whoStillWait } from '@plant-shop/platform/lanes';
import { Database } from '@plant-shop/platform/postgres/database';
import type { Replayed, Versioned } from '@plant-shop/platform/rpc/answer';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import type { Deadline } from '@plant-shop/platform/rpc/deadline';
import { sizes } from '@plant-shop/platform/service/metrics';
import { Registry } from 'prom-client';
import { OrderFeed } from '../feed/order-feed.js';
import { STORE_OPTIONS, type StoreOptions } from '../options.js';
import { type PaymentReport, type PaymentResult, takePayments } from './take-payments.js';

interface ReportRequest extends PaymentReport {
  readonly deadline: Deadline;
}

type Answer = Versioned<Order> | Replayed;

const maxBatch = 256;
/** There is one lane: which plants a batch touches is not known before its orders are read. */
const theLane = 0;

@Injectable()
export class PaymentsService {
  private readonly lanes: Lanes<ReportRequest, Answer>;

  constructor(
    private readonly database: Database,
    private readonly feed: OrderFeed,
    metrics: Registry,
    @Inject(STORE_OPTIONS) private readonly options: StoreOptions,
  ) {
    const onBatch = sizes(metrics, 'store_batch_payments', 'Payment reports that were taken together');
    this.lanes = new Lanes<ReportRequest, Answer>(
      { name: 'take payments', count: 1, maxBatch, onBatch },
      whoStillWait<ReportRequest, Answer>('store', (batch) => this.takeAll(batch)),
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
    const results = await this.database.transaction((tx) => takePayments(tx, batch, this.options.checkout), { keepsPlans: true });
    this.feed.moved();
    return results;
  }
}
