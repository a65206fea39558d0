import { Controller, Injectable } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import { type Basket, type CancelBasket, type GetBasket, type PlaceBasket, store } from '@plant-shop/contracts/store';
import { actorOf, audit } from '@plant-shop/platform/patterns/audit-log';
import { Database } from '@plant-shop/platform/postgres/database';
import type { Replayed } from '@plant-shop/platform/rpc/answer';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import type { Principal, RpcContext } from '@plant-shop/platform/rpc/context';
import { OrderFeed } from '../feed/order-feed.js';
import { type BasketState, cancelBasket } from './basket.js';
import { findBasket } from './baskets.repository.js';
import type { OrderState } from './order.js';
import { OrderReads } from './order-reads.service.js';
import { changedBasket, isVisible, toBasket } from './order.views.js';
import { findOrdersOfBasket, lockOrdersAndStock, writeStatusChanges } from './orders.repository.js';
import { OrdersService } from './orders.service.js';

/** Reads and cancels baskets. `OrdersService` places them, and `PaymentsService` takes their payments. */
@Injectable()
export class BasketsService {
  constructor(
    private readonly database: Database,
    private readonly reads: OrderReads,
    private readonly feed: OrderFeed,
  ) {}

  /** @throws DomainError `basket-not-found` */
  async get(context: RpcContext, basketId: number): Promise<Basket> {
    const [basket, orders] = await Promise.all([findBasket(this.database, basketId), findOrdersOfBasket(this.database, basketId)]);
    const visible = requireVisibleBasket(context.principal, basketId, basket, orders);
    return toBasket(visible.basket, visible.orders, await this.reads.ownerNames(context, visible.orders));
  }

  /**
   * Cancels the orders that the principal may read. Idempotent: cancelled orders stay as they are.
   * @throws DomainError `basket-not-found`, `forbidden`, `order-not-cancellable`
   */
  async cancel(context: RpcContext, basketId: number): Promise<Basket> {
    const { principal } = context;
    const cancelled = await this.database.transaction(async (tx) => {
      // Orders never join or leave a basket, so their ids can be read before the locks are taken.
      const [basket, found] = await Promise.all([findBasket(tx, basketId), findOrdersOfBasket(tx, basketId)]);
      const locked = await lockOrdersAndStock(tx, found.map(({ id }) => id));
      const visible = requireVisibleBasket(principal, basketId, basket, [...locked.orders.values()]);
      const isStaff = visible.orders.some(({ ownerId }) => ownerId !== principal.subject);
      if (isStaff && !principal.permissions.includes('manage:orders')) {
        throw new DomainError('forbidden', "Cancelling another user's orders needs the permission manage:orders.");
      }
      const changes = cancelBasket(visible.orders, { actor: principal.subject, at: locked.at });
      writeStatusChanges(tx, locked, changes.map((change) => ({ ...change, clientId: context.clientId })));
      if (isStaff && changes.length > 0) audit(tx, actorOf(context), store.cancelBasket, basketId);
      const after = new Map(changes.map(({ order }) => [order.id, order]));
      return changedBasket(visible.basket, visible.orders.map((order) => after.get(order.id) ?? order), context.principal);
    });
    this.feed.notify();
    return cancelled;
  }
}

/**
 * Returns the basket with those of its orders that the principal may read. Answers 404, not 403, for others' baskets, so that ids cannot
 * be probed.
 * @throws DomainError `basket-not-found`
 */
function requireVisibleBasket(
  principal: Principal,
  basketId: number,
  basket: BasketState | undefined,
  orders: readonly OrderState[],
): { readonly basket: BasketState; readonly orders: readonly OrderState[] } {
  const visible = orders.filter((order) => isVisible(principal, order));
  if (!basket || visible.length === 0 || !isVisible(principal, basket)) {
    throw new DomainError('basket-not-found', `There is no basket ${basketId} with orders that you may read.`);
  }
  return { basket, orders: visible };
}

@Controller()
export class BasketsController {
  constructor(
    private readonly baskets: BasketsService,
    private readonly orders: OrdersService,
  ) {}

  @Answers(store.placeBasket)
  placeBasket({ basket }: PlaceBasket, context: RpcContext): Promise<Basket | Replayed> {
    return this.orders.placeBasket(context, basket);
  }

  @Answers(store.getBasket)
  getBasket({ basketId }: GetBasket, context: RpcContext): Promise<Basket> {
    return this.baskets.get(context, basketId);
  }

  @Answers(store.cancelBasket)
  cancelBasket({ basketId }: CancelBasket, context: RpcContext): Promise<Basket> {
    return this.baskets.cancel(context, basketId);
  }
}
