import { Controller, Injectable } from '@nestjs/common';
import { type CancelOrderByStaff, type Order, store } from '@plant-shop/contracts/store';
import { actorOf, audit } from '@plant-shop/platform/patterns/audit-log';
import { runOnce } from '@plant-shop/platform/patterns/idempotent-results';
import { Database } from '@plant-shop/platform/postgres/database';
import type { Replayed, Versioned } from '@plant-shop/platform/rpc/answer';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { OrderFeed } from '../feed/order-feed.js';
import { findAcceptedPayment, findRefundIds, savePayments } from '../payments/payments.repository.js';
import { appendStockChange } from '../stock/stock-changes.js';
import { writeOff } from '../stock/stock.repository.js';
import { cancel, cancelPaid, markRefundDue, refundDueEvent, requireOrder } from '../orders/order.js';
import { versionedOrder } from '../orders/order.views.js';
import { lockOrdersAndStock, writeAmendments, writeStatusChanges } from '../orders/orders.repository.js';

/** Staff cancel orders that were not shipped, also paid ones: their units become free or are written off, and a refund becomes due. */
@Injectable()
export class StaffCancellationsService {
  constructor(
    private readonly database: Database,
    private readonly feed: OrderFeed,
  ) {}

  /**
   * Cancelling a cancelled order returns it unchanged.
   * @throws DomainError `order-not-found`, `precondition-failed`, `order-not-cancellable`
   */
  async cancel(context: RpcContext, { orderId, cancellation: { reason, restock }, ifVersion }: CancelOrderByStaff): Promise<Versioned<Order> | Replayed> {
    const actor = context.principal.subject;
    const cancelled = await this.database.transaction((tx) =>
      runOnce(tx, context.idempotency, async () => {
        const locked = await lockOrdersAndStock(tx, [orderId]);
        const { at } = locked;
        const order = requireOrder(orderId, locked.orders.get(orderId), ifVersion);
        if (order.status === 'cancelled') return versionedOrder(order, context.principal);
        const why = `cancelled: ${reason}`;
        const change = order.status === 'placed' ? cancel(order, { actor, at }, why) : cancelPaid(order, { actor, at }, why);
        writeStatusChanges(tx, locked, [{ ...change, clientId: context.clientId }], { keepsUnits: !restock });
        audit(tx, actorOf(context), store.cancelOrderByStaff, orderId);
        const [stock] = locked.stock;
        if (!restock && stock) {
          const { plantId, quantity } = order;
          writeOff(tx, stock, quantity);
          const free = stock.free + change.units.free - quantity;
          appendStockChange(tx, { plantId, by: 0, free, reason, actor, order: { id: orderId, quantity } });
        }
        const payment = await findAcceptedPayment(tx, orderId);
        if (!payment) return versionedOrder(change.order, context.principal);
        savePayments(tx, [{ ...payment, state: 'refund-due' }]);
        const [refundId = 0] = await findRefundIds(tx, [payment]);
        const step = markRefundDue(change.order, { actor, at });
        writeAmendments(tx, [{ ...step, refundId, event: refundDueEvent(refundId, step.order, at), clientId: context.clientId }], at);
        return versionedOrder(step.order, context.principal);
      }),
    );
    this.feed.notify();
    return cancelled;
  }
}

@Controller()
export class StaffCancellationsController {
  constructor(private readonly cancellations: StaffCancellationsService) {}

  @Answers(store.cancelOrderByStaff)
  cancelOrderByStaff(request: CancelOrderByStaff, context: RpcContext): Promise<Versioned<Order> | Replayed> {
    return this.cancellations.cancel(context, request);
  }
}
