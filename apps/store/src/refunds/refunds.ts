import { Controller, Injectable } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import {
  type CompleteRefund,
  type GetRefund,
  type ListRefunds,
  type Refund,
  type RefundStatus,
  refundStatuses,
  store,
} from '@plant-shop/contracts/store';
import type { Logger } from '@plant-shop/platform/logging';
import { actorOf, audit } from '@plant-shop/platform/patterns/audit-log';
import { runOnce } from '@plant-shop/platform/patterns/idempotent-results';
import { byNumber, type PageBounds, Paging } from '@plant-shop/platform/patterns/paging';
import { Database, readClock, type Reader, type Statement, type Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import type { Page, Replayed } from '@plant-shop/platform/rpc/answer';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { gauge } from '@plant-shop/platform/service/metrics';
import { Registry } from 'prom-client';
import { completeRefund, type OrderState, requireOrder } from '../orders/order.js';
import { lockOrder, writeAmendments } from '../orders/orders.repository.js';

/** A payment that is due for refund, or was refunded. */
interface RefundState {
  readonly id: number;
  readonly orderId: number;
  readonly paymentReference: string;
  readonly dueAt: Date;
  /** Null: the refund is due. */
  readonly completedAt: Date | null;
  /** The reference under which the money was returned; null: the refund is due. */
  readonly reference: string | null;
}

const stateOf: Readonly<Record<RefundStatus, string>> = { due: 'refund-due', completed: 'refunded' };
const isRefund = `state IN ('refund-due', 'refunded')`;
const columns = `refund_id AS id, order_id AS "orderId", reference AS "paymentReference", at AS "dueAt", refunded_at AS "completedAt",
  refund_reference AS reference`;

const listByState: Statement = {
  name: 'list-refunds',
  text: `SELECT refund.* FROM unnest($1::text[]) AS wanted (state) CROSS JOIN LATERAL (
           SELECT ${columns} FROM payments WHERE payments.state = wanted.state AND ${isRefund} AND refund_id < $2 ORDER BY refund_id DESC LIMIT $3
         ) AS refund ORDER BY id DESC LIMIT $3`,
};

/** Lists refunds, the latest to become due first, one more than the page holds. */
function listRefunds(db: Reader, status: RefundStatus | undefined, { after, limit }: PageBounds): Promise<RefundState[]> {
  return db.query(listByState, [(status ? [status] : refundStatuses).map((one) => stateOf[one]), after, limit + 1]);
}

const findById: Statement = { name: 'find-refund', text: `SELECT ${columns} FROM payments WHERE refund_id = $1 AND ${isRefund}` };

/** Finds a refund. Before deciding by its state, lock its order. */
async function findRefund(db: Reader, refundId: number): Promise<RefundState | undefined> {
  const [refund] = await db.query<RefundState>(findById, [refundId]);
  return refund;
}

const countOthersDue: Statement = {
  name: 'count-other-refunds-due',
  text: `SELECT count(*) AS count FROM payments WHERE order_id = $1 AND state = 'refund-due' AND refund_id <> $2`,
};

/** Returns the number of the order's other refunds that are due. Call it while the order is locked. */
async function countOtherRefundsDue(tx: Transaction, orderId: number, refundId: number): Promise<number> {
  return onlyRow(await tx.query<{ count: number }>(countOthersDue, [orderId, refundId])).count;
}

const complete: Statement = {
  name: 'complete-refund',
  text: `UPDATE payments SET state = 'refunded', refunded_at = clock_timestamp(), refund_reference = $2
         WHERE refund_id = $1 AND state = 'refund-due' RETURNING ${columns}`,
};

const lockReference: Statement = { name: 'lock-refund-reference', text: 'SELECT pg_advisory_xact_lock(2, hashtext($1))' };
const isUsed: Statement = {
  name: 'is-refund-reference-used',
  text: `SELECT EXISTS (SELECT FROM payments JOIN orders ON orders.id = order_id
           WHERE refund_reference = $1 AND coalesce(basket_id <> $2, true)) AS used`,
};

/** Whether a refund was completed with the reference, other than of the same basket. Call it after `lockReference`. */
const isReferenceUsed = async (tx: Transaction, reference: string, { basketId }: OrderState): Promise<boolean> =>
  onlyRow(await tx.query<{ used: boolean }>(isUsed, [reference, basketId])).used;

/** Writes that the money of a due refund was returned under `reference`. Its order must be locked. */
async function writeCompletion(tx: Transaction, refundId: number, reference: string): Promise<RefundState> {
  const [completed] = await tx.query<RefundState>(complete, [refundId, reference]);
  if (!completed) throw new Error(`refund ${refundId} is not due, and its order is locked`);
  return completed;
}

const countDue: Statement = {
  name: 'count-refunds-due',
  text: `SELECT count(*) AS count, coalesce(extract(epoch FROM now() - min(at)), 0)::float8 AS "oldestSeconds" FROM payments WHERE state = 'refund-due'`,
};

/** Returns the number of due refunds and the age of the oldest in seconds (0: none is due). */
async function countRefundsDue(db: Reader): Promise<{ readonly count: number; readonly oldestSeconds: number }> {
  const [row] = await db.query<{ count: number; oldestSeconds: number }>(countDue);
  return row ?? { count: 0, oldestSeconds: 0 };
}

/** Payments that arrived too late or twice (`payments/payment.ts` decides), from due to refunded. */
@Injectable()
export class RefundsService {
  constructor(private readonly database: Database) {}

  /** Lists refunds, the latest to become due first. */
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
   * @throws DomainError `refund-not-found`; `refund-completed` when it was completed with another reference; `refund-reference-used`
   */
  complete(context: RpcContext, { refundId, completion: { reference } }: CompleteRefund): Promise<Refund | Replayed> {
    return this.database.transaction((tx) =>
      runOnce(tx, context.idempotency, async () => {
        // Before the order's lock, as reports lock references before orders.
        tx.send(lockReference, [reference]);
        const { orderId } = requireRefund(refundId, await findRefund(tx, refundId));
        const order = requireOrder(orderId, await lockOrder(tx, orderId));
        // Read again after the lock: another completion may have committed during the wait.
        const [found, otherRefundsDue, at] = await Promise.all([findRefund(tx, refundId), countOtherRefundsDue(tx, orderId, refundId), readClock(tx)]);
        const refund = requireRefund(refundId, found);
        if (refund.completedAt !== null) {
          if (refund.reference === reference) return toRefund(refund);
          throw new DomainError('refund-completed', `Refund ${refundId} was completed as ${refund.reference} on ${refund.completedAt.toISOString()}.`);
        }
        if (await isReferenceUsed(tx, reference, order)) throw new DomainError('refund-reference-used', `The transfer ${reference} completed another refund.`);
        const completed = await writeCompletion(tx, refundId, reference);
        const step = completeRefund(order, { refundId, otherRefundsDue, actor: context.principal.subject, at });
        writeAmendments(tx, [{ ...step, clientId: context.clientId }], at);
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
