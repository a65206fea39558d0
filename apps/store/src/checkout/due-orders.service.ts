import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import { isDataError } from '@plant-shop/platform/postgres/sqlstate';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { OrderFeed } from '../feed/order-feed.js';
import { STORE_OPTIONS, type StoreOptions } from '../options.js';
import { applyDueTransition } from '../orders/order.js';
import { lockOrdersAndStock, writeStatusChanges } from '../orders/orders.repository.js';
import { deleteSetAside, type DueOrder, lockDueOrder, lockDueOrders, lockDueOrdersById, setOrderAside } from './due-orders.repository.js';

/**
 * Applies the due transitions of orders. When Postgres rejects a batch because of its data, tries its halves separately, down to
 * the order that is rejected alone, and sets that one aside. Otherwise every poll would fail on the same oldest orders.
 */
@Injectable()
export class DueOrdersService {
  constructor(
    private readonly database: Database,
    private readonly feed: OrderFeed,
    @Inject(STORE_OPTIONS) private readonly options: StoreOptions,
    @InjectLogger() private readonly logger: Logger,
  ) {}

  /** Processes one batch. @returns how many orders were due; fewer than `limit`: other replicas have the rest, or none is left */
  async applyBatch(limit: number): Promise<number> {
    let due: readonly DueOrder[] = [];
    try {
      await this.database.transaction(async (tx) => {
        due = await lockDueOrders(tx, limit);
        await this.apply(tx, due);
      });
    } catch (error) {
      if (due.length === 0 || !isDataError(error)) throw error;
      await this.applyHalves(due, error);
    }
    if (due.length > 0) this.feed.announce();
    return due.length;
  }

  /**
   * Retries an order that is set aside. Waits for a transaction that holds it, because only a changed order is no longer set aside.
   * @returns undefined when the order is no longer set aside; else the error with which Postgres still rejects it
   */
  async retry(orderId: number): Promise<Error | undefined> {
    try {
      await this.database.transaction(async (tx) => {
        const due = await lockDueOrder(tx, orderId);
        if (due) await this.apply(tx, [due]);
        await deleteSetAside(tx, orderId);
      });
      this.feed.announce();
      return undefined;
    } catch (error) {
      if (!isDataError(error)) throw error;
      return error as Error;
    }
  }

  /** @param error the error with which Postgres rejected the orders together */
  private async applyHalves(refused: readonly DueOrder[], error: unknown): Promise<void> {
    const [first, ...others] = refused;
    if (first && others.length === 0) return this.setAside(first, error);
    const middle = refused.length >> 1;
    for (const half of [refused.slice(0, middle), refused.slice(middle)]) {
      try {
        await this.applyById(half.map(({ id }) => id));
      } catch (refusal) {
        if (!isDataError(refusal)) throw refusal;
        await this.applyHalves(half, refusal);
      }
    }
  }

  private async applyById(orderIds: readonly number[]): Promise<void> {
    await this.database.transaction(async (tx) => this.apply(tx, await lockDueOrdersById(tx, orderIds)));
    this.feed.announce();
  }

  private async apply(tx: Transaction, due: readonly DueOrder[]): Promise<void> {
    if (due.length === 0) return;
    const locked = await lockOrdersAndStock(tx, due.map(({ id }) => id));
    const changes = due.flatMap(({ id, transition }) => {
      const order = locked.orders.get(id);
      return (order && applyDueTransition(order, transition, locked.at, this.options.checkout)) ?? [];
    });
    writeStatusChanges(tx, locked, changes);
  }

  private async setAside(order: DueOrder, error: unknown): Promise<void> {
    const isNew = await setOrderAside(this.database, order, error);
    if (isNew) this.logger.error({ err: error, orderId: order.id, transition: order.transition }, 'order set aside');
  }
}
