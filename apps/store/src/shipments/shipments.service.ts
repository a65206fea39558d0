import { Inject, Injectable } from '@nestjs/common';
import { type DeliverOrder, type Order, type ShipOrder, store } from '@plant-shop/contracts/store';
import { actorOf, audit } from '@plant-shop/platform/audit/audit-log';
import { once } from '@plant-shop/platform/idempotency/saved-answers';
import { Database } from '@plant-shop/platform/postgres/database';
import { type Replayed, Versioned } from '@plant-shop/platform/rpc/answer';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { OrderFeed } from '../feed/order-feed.js';
import { STORE_OPTIONS, type StoreOptions } from '../options.js';
import { assertVersion, lockOrder, orderNotFound, transitionRefused } from '../orders/lock-order.js';
import { LockedOrders } from '../orders/locked-orders.js';
import { toOrder } from '../orders/order.js';
import { amendOrder } from '../orders/orders.repository.js';

@Injectable()
export class ShipmentsService {
  constructor(
    private readonly database: Database,
    private readonly feed: OrderFeed,
    @Inject(STORE_OPTIONS) private readonly options: StoreOptions,
  ) {}

  /** The carrier's own tracking number replaces ours; events from here on carry it. */
  ship(
    context: RpcContext,
    { orderId, shipment, ifVersion }: ShipOrder,
  ): Promise<Versioned<Order> | Replayed> {
    return this.database.transaction((tx) =>
      once(tx, context.idempotency, async () => {
        const order = await lockOrder(tx, orderId, ifVersion);
        if (order.status !== 'approved') throw transitionRefused(order, 'only approved orders are shipped');
        const { carrier, trackingNumber } = shipment;
        const shipped = { ...order, carrier, trackingNumber, version: order.version + 1 };
        await amendOrder(tx, shipped, { actor: context.caller.subject, reason: 'shipped' });
        audit(tx, actorOf(context), store.shipOrder, orderId);
        return new Versioned(toOrder(shipped), shipped.version);
      }),
    );
  }

  async deliver(
    context: RpcContext,
    { orderId, ifVersion }: DeliverOrder,
  ): Promise<Versioned<Order> | Replayed> {
    const delivered = await this.database.transaction((tx) =>
      once(tx, context.idempotency, async () => {
        const orders = await LockedOrders.lock(tx, [orderId]);
        const order = orders.get(orderId);
        if (!order) throw orderNotFound(orderId);
        assertVersion(order, ifVersion);
        const move = { orderId, move: 'deliver', actor: context.caller.subject, reason: 'delivered' } as const;
        const delivered = orders.move(move, this.options.checkout);
        if (!delivered) throw transitionRefused(order, 'only approved orders are delivered');
        orders.write(tx);
        audit(tx, actorOf(context), store.deliverOrder, orderId);
        return new Versioned(toOrder(delivered), delivered.version);
      }),
    );
    this.feed.moved();
    return delivered;
  }
}
