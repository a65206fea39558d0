import { Controller, Injectable } from '@nestjs/common';
import { type DeliverOrder, type Order, type ShipOrder, store } from '@plant-shop/contracts/store';
import { actorOf, audit } from '@plant-shop/platform/patterns/audit-log';
import { runOnce } from '@plant-shop/platform/patterns/idempotent-results';
import { Database, readClock } from '@plant-shop/platform/postgres/database';
import type { Replayed, Versioned } from '@plant-shop/platform/rpc/answer';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { OrderFeed } from '../feed/order-feed.js';
import { deliver, isShippedAs, requireOrder, ship } from '../orders/order.js';
import { versionedOrder } from '../orders/order.views.js';
import { lockOrder, lockOrdersAndStock, writeAmendments, writeStatusChanges } from '../orders/orders.repository.js';

@Injectable()
export class ShipmentsService {
  constructor(
    private readonly database: Database,
    private readonly feed: OrderFeed,
  ) {}

  /** Records a shipment of an approved order. The same one again changes nothing. @throws DomainError `order-not-found`, `precondition-failed`, `order-transition-refused` */
  async ship(
    context: RpcContext,
    { orderId, shipment, ifVersion }: ShipOrder,
  ): Promise<Versioned<Order> | Replayed> {
    const shipped = await this.database.transaction((tx) =>
      runOnce(tx, context.idempotency, async () => {
        const [order, at] = await Promise.all([lockOrder(tx, orderId), readClock(tx)]);
        const found = requireOrder(orderId, order, ifVersion);
        if (isShippedAs(found, shipment)) return versionedOrder(found, context.principal);
        const step = ship(found, shipment, { actor: context.principal.subject, at });
        writeAmendments(tx, [{ ...step, clientId: context.clientId }], at);
        audit(tx, actorOf(context), store.shipOrder, orderId);
        return versionedOrder(step.order, context.principal);
      }),
    );
    this.feed.notify();
    return shipped;
  }

  /** Records the delivery of an approved order. @throws DomainError `order-not-found`, `precondition-failed`, `order-transition-refused` */
  async deliver(
    context: RpcContext,
    { orderId, ifVersion }: DeliverOrder,
  ): Promise<Versioned<Order> | Replayed> {
    const delivered = await this.database.transaction((tx) =>
      runOnce(tx, context.idempotency, async () => {
        const locked = await lockOrdersAndStock(tx, [orderId]);
        const order = requireOrder(orderId, locked.orders.get(orderId), ifVersion);
        const change = deliver(order, { actor: context.principal.subject, at: locked.at });
        writeStatusChanges(tx, locked, [{ ...change, clientId: context.clientId }]);
        audit(tx, actorOf(context), store.deliverOrder, orderId);
        return versionedOrder(change.order, context.principal);
      }),
    );
    this.feed.notify();
    return delivered;
  }
}

@Controller()
export class ShipmentsController {
  constructor(private readonly shipments: ShipmentsService) {}

  @Answers(store.shipOrder)
  shipOrder(shipping: ShipOrder, context: RpcContext): Promise<Versioned<Order> | Replayed> {
    return this.shipments.ship(context, shipping);
  }

  @Answers(store.deliverOrder)
  deliverOrder(delivering: DeliverOrder, context: RpcContext): Promise<Versioned<Order> | Replayed> {
    return this.shipments.deliver(context, delivering);
  }
}
