import { Inject, Injectable } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import type { Order, Payment } from '@plant-shop/contracts/store';
import { Database } from '@plant-shop/platform/postgres/database';
import { Versioned } from '@plant-shop/platform/rpc/answer';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { STORE_OPTIONS, type StoreOptions } from '../options.js';
import { lockOrder } from '../orders/lock-order.js';
import { moveOrders } from '../orders/move-orders.js';
import { canMove, type OrderState, toOrder } from '../orders/order.js';
import { decidePayment } from './payment.js';
import { findPayment, savePayment } from './payments.repository.js';

@Injectable()
export class PaymentsService {
  constructor(
    private readonly database: Database,
    @Inject(STORE_OPTIONS) private readonly options: StoreOptions,
  ) {}

  /**
   * Takes what an external provider reports. Reporting it again changes nothing.
   * @throws DomainError `order-not-payable`; the refund that is due is noted all the same
   */
  async report({ caller }: RpcContext, orderId: number, { outcome, reference }: Payment): Promise<Versioned<Order>> {
    const { order, state } = await this.database.transaction(async (tx) => {
      const order = await lockOrder(tx, orderId);
      const known = await findPayment(tx, orderId, reference);
      const decision = decidePayment(known, outcome, canMove(order, 'approve'));
      if (decision.kind === 'known') return { order, state: decision.state };
      await savePayment(tx, { orderId, reference, state: decision.state });
      if (decision.state !== 'accepted') return { order, state: decision.state };
      const [approved = order] = await moveOrders(tx, this.options.checkout, [
        { orderId, move: 'approve', actor: caller.subject, reason: 'payment succeeded' },
      ]);
      return { order: approved, state: decision.state };
    });
    if (state === 'refund-due') throw notPayable(order);
    return new Versioned(toOrder(order), order.version);
  }
}

const notPayable = (order: OrderState): DomainError =>
  new DomainError(
    'order-not-payable',
    `Order ${order.id} is ${order.status} and takes no payment. It is noted that this one is to be given back.`,
    { status: order.status, payment: 'refund-due' },
  );
