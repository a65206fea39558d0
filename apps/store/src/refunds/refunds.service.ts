import { Controller, Injectable } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import { type CompleteRefund, type GetRefund, type ListRefunds, type Refund, store } from '@plant-shop/contracts/store';
import { actorOf, audit } from '@plant-shop/platform/patterns/audit-log';
import { runOnce } from '@plant-shop/platform/patterns/idempotent-results';
import type { Logger } from '@plant-shop/platform/logging';
import { byNumber, Paging } from '@plant-shop/platform/patterns/paging';
import { Database } from '@plant-shop/platform/postgres/database';
import type { Page, Replayed } from '@plant-shop/platform/rpc/answer';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { gauge } from '@plant-shop/platform/service/metrics';
import { Registry } from 'prom-client';
import { completeRefund, requireOrder } from '../orders/order.js';
import { lockOrder, writeAmendments } from '../orders/orders.repository.js';
import { countOtherRefundsDue, countRefundsDue, findRefund, listRefunds, type RefundState, writeCompletion } from './refunds.repository.js';

/** Payments that arrived too late or twice (`payments/payment.ts` decides), from due to refunded. */
@Injectable()
export class RefundsService {
  constructor(private readonly database: Database) {}

  /** Lists refunds newest first. */
  async list({ status, ...requested }: ListRefunds): Promise<Page<Refund>> {
    const paging = new Paging('refunds', byNumber, [status ?? 'any']);
    const bounds = paging.bounds(requested);
    return paging.page(await listRefunds(this.database, status, bounds), bounds, { entry: toRefund, position: ({ id }) => id });
  }

  /** @throws DomainError `refund-not-found` */
  async get(refundId: number): Promise<Refund> {
    return toRefund(requireRefund(refundId, await findRefund(this.database, refundId)));
  }

  /**
   * Records that the money was returned. Idempotent for the same reference.
   * @throws DomainError `refund-not-found`; `refund-completed` when it was completed with another reference
   */
  complete(context: RpcContext, { refundId, completion: { reference } }: CompleteRefund): Promise<Refund | Replayed> {
    return this.database.transaction((tx) =>
      runOnce(tx, context.idempotency, async () => {
        const { orderId } = requireRefund(refundId, await findRefund(tx, refundId));
        const order = requireOrder(orderId, await lockOrder(tx, orderId));
        // Read again after the lock: another completion may have committed during the wait.
        const [found, otherRefundsDue] = await Promise.all([findRefund(tx, refundId), countOtherRefundsDue(tx, orderId, refundId)]);
        const refund = requireRefund(refundId, found);
        if (refund.completedAt !== null) {
          if (refund.reference === reference) return toRefund(refund);
          throw new DomainError('refund-completed', `Refund ${refundId} was completed as ${refund.reference} on ${refund.completedAt.toISOString()}.`);
        }
        const completed = await writeCompletion(tx, refundId, reference);
        writeAmendments(tx, [completeRefund(order, { refundId, otherRefundsDue, actor: context.principal.subject })]);
        audit(tx, actorOf(context), store.completeRefund, refundId);
        return toRefund(completed);
      }),
    );
  }
}

function requireRefund(refundId: number, refund: RefundState | undefined): RefundState {
  if (!refund) throw new DomainError('refund-not-found', `There is no refund ${refundId}.`);
  return refund;
}

const toRefund = (refund: RefundState): Refund => ({
  id: refund.id,
  orderId: refund.orderId,
  status: refund.completedAt ? 'completed' : 'due',
  paymentReference: refund.paymentReference,
  dueAt: refund.dueAt.toISOString(),
  ...(refund.completedAt && { completedAt: refund.completedAt.toISOString() }),
  ...(refund.reference !== null && { reference: refund.reference }),
});

/** Refreshes the metrics of due refunds every 10 seconds. */
@Injectable()
export class RefundsDueGauge extends BackgroundLoop {
  constructor(database: Database, metrics: Registry, @InjectLogger() logger: Logger) {
    let due = { count: 0, oldestSeconds: 0 };
    gauge(metrics, 'store_refunds_due', 'Refunds that are due', () => due.count);
    gauge(metrics, 'store_refund_oldest_due_seconds', 'Age of the oldest due refund in seconds; 0: none is due', () => due.oldestSeconds);
    super(
      { name: 'count refunds due', intervalMs: 10_000 },
      async () => {
        due = await countRefundsDue(database);
        return false;
      },
      logger,
    );
  }
}

@Controller()
export class RefundsController {
  constructor(private readonly refunds: RefundsService) {}

  @Answers(store.listRefunds)
  listRefunds(request: ListRefunds): Promise<Page<Refund>> {
    return this.refunds.list(request);
  }

  @Answers(store.getRefund)
  getRefund({ refundId }: GetRefund): Promise<Refund> {
    return this.refunds.get(refundId);
  }

  @Answers(store.completeRefund)
  completeRefund(request: CompleteRefund, context: RpcContext): Promise<Refund | Replayed> {
    return this.refunds.complete(context, request);
  }
}
