import { Inject, Injectable } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import { type Order, type Payment, store } from '@plant-shop/contracts/store';
import { actorOf, audit } from '@plant-shop/platform/audit/audit-log';
import { once } from '@plant-shop/platform/idempotency/saved-answers';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import { type Replayed, Versioned } from '@plant-shop/platform/rpc/answer';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { OrderFeed } from '../feed/order-feed.js';
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
    private readonly feed: OrderFeed,
    @Inject(STORE_OPTIONS) private readonly options: StoreOptions,
  ) {}

  /**
   * Takes what an external provider reports. Reporting it again changes nothing.
   * @throws DomainError `order-not-payable`; the refund that is due is noted all the same
   */
  async report(context: RpcContext, orderId: number, payment: Payment): Promise<Versioned<Order> | Replayed> {
    const result = await this.database.transaction((tx) =>
      once(tx, context.idempotency, () => this.take(tx, context, orderId, payment)),
    );
    if (result instanceof DomainError) throw result;
    this.feed.moved();
    return result;
  }

  /** @returns a refusal instead of throwing it where something is to be committed all the same */
  private async take(
    tx: Transaction,
    context: RpcContext,
    orderId: number,
    { outcome, reference }: Payment,
  ): Promise<Versioned<Order> | DomainError> {
    const [order, known] = await Promise.all([lockOrder(tx, orderId), findPayment(tx, orderId, reference)]);
    const { kind, state } = decidePayment(known, outcome, canMove(order, 'approve'));
    if (kind === 'new') {
      savePayment(tx, { orderId, reference, state });
      audit(tx, actorOf(context), store.reportPayment, orderId);
    }
    if (state === 'refund-due') return notPayable(order);
    if (kind === 'known' || state === 'failed') return new Versioned(toOrder(order), order.version);
    const [approved = order] = await moveOrders(tx, this.options.checkout, [
      { orderId, move: 'approve', actor: context.caller.subject, reason: 'payment succeeded' },
    ]);
    return new Versioned(toOrder(approved), approved.version);
  }
}

const notPayable = (order: OrderState): DomainError =>
  new DomainError(
    'order-not-payable',
    `Order ${order.id} is ${order.status} and takes no payment. It is noted that this one is to be given back.`,
    { payment: 'refund-due' },
  );
