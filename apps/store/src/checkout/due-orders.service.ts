import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import { isDataError } from '@plant-shop/platform/postgres/sqlstate';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { gauge } from '@plant-shop/platform/service/metrics';
import { Registry } from 'prom-client';
import { type CheckoutPolicy, STORE_OPTIONS, type StoreOptions } from '../config.js';
import { OrderFeed } from '../feed/order-feed.js';
import { applyDueTransition, dueAfterPlacing, type StatusChange } from '../orders/order.js';
import { lockOrdersAndStock, writeStatusChanges } from '../orders/orders.repository.js';
import {
  bringForwardDue,
  countSetAside,
  deleteOutdatedSetAside,
  deleteSetAside,
  type DueReading,
  type DueOrder,
  lockDueOrder,
  lockDueOrders,
  lockDueOrdersById,
  readDue,
  setOrderAside,
} from './due-orders.repository.js';

/**
 * Applies the due transitions of orders. When Postgres rejects a batch because of its data, tries its halves separately, down to
 * the order that is rejected alone, and sets that one aside. Otherwise every poll would fail on the same oldest orders.
 */
@Injectable()
export class DueOrdersService {
  constructor(
    private readonly database: Database,
    private readonly feed: OrderFeed,
    @Inject(STORE_OPTIONS) protected readonly options: StoreOptions,
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
    if (due.length > 0) this.feed.notify();
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
      this.feed.notify();
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
    this.feed.notify();
  }

  /** @returns the changes that the orders still allowed */
  protected async apply(tx: Transaction, due: readonly DueOrder[]): Promise<readonly StatusChange[]> {
    if (due.length === 0) return [];
    const locked = await lockOrdersAndStock(tx, due.map(({ id }) => id));
    const changes = due.flatMap(({ id, transition }) => {
      const order = locked.orders.get(id);
      return (order && applyDueTransition(order, transition, locked.at, this.options.checkout)) ?? [];
    });
    writeStatusChanges(tx, locked, changes);
    return changes;
  }

  private async setAside(order: DueOrder, error: unknown): Promise<void> {
    const isNew = await setOrderAside(this.database, order, error);
    if (isNew) this.logger.error({ err: error, orderId: order.id, transition: order.transition }, 'order set aside');
  }
}

const batch = 500;

/** Minimum between two polls, so that orders that come due shortly after each other share a batch. */
const shortestPauseMs = 200;
const longestPauseMs = 1_000;
/** Orders are placed a little ahead of the clock: each batch later than the one before. */
const maxLeadMs = 1_000;

/**
 * Polls for due orders and applies their transitions. The orders' rows store what is due and when, so it survives restarts. The
 * clock is the database's; set back, it delays nothing. Replicas share the work: each takes only rows that no other replica has locked.
 *
 * Sleeps until the next order is due, but no longer than an order placed meanwhile, on any replica, takes to come due. So every
 * order is processed at most `shortestPauseMs` after its due time, plus the time of the transaction.
 */
@Injectable()
export class DueOrdersLoop extends BackgroundLoop {
  constructor(database: Database, dueOrders: DueOrdersService, @Inject(STORE_OPTIONS) { checkout }: StoreOptions, @InjectLogger() logger: Logger) {
    const intervalMs = withinPauses(shortestDelayMs(checkout));
    /** The latest reading of the database's clock; undefined: none by this process, so the clock may have been set back before. */
    let latest: DueReading | undefined;
    super(
      { name: 'due orders', intervalMs },
      async () => {
        const reading = await readDue(database);
        const { now, inMs, aheadMs } = reading;
        // The second: forward and back between two readings.
        const wasSetBack = latest === undefined || now < latest.now || aheadMs > Math.max(latest.aheadMs, 0) + maxLeadMs;
        if (wasSetBack && (await database.transaction(bringForwardDue)) > 0) logger.warn('the clock of the database was set back: due orders brought forward');
        latest = reading;
        if (inMs === null || inMs > 0) return pauseMs(inMs ?? undefined, intervalMs);
        return (await dueOrders.applyBatch(batch)) === batch || shortestPauseMs;
      },
      logger,
    );
  }
}

/**
 * Returns the pause until the next poll, in milliseconds.
 * @param inMs time until the next existing order is due; undefined: none will be
 * @param intervalMs shortest time in which an order placed meanwhile comes due, clamped to the pauses
 */
export const pauseMs = (inMs: number | undefined, intervalMs: number): number =>
  inMs === undefined || inMs >= intervalMs ? intervalMs : withinPauses(Math.ceil(inMs));

/** Returns the shortest delay, in milliseconds, after which the store applies a transition without a request. */
export function shortestDelayMs(policy: CheckoutPolicy): number {
  const placed = dueAfterPlacing(policy).inMs;
  return policy.provider === 'simulated' ? Math.min(placed, policy.deliveryDelayMs) : placed;
}

const withinPauses = (ms: number): number => Math.min(Math.max(ms, shortestPauseMs), longestPauseMs);

/** Refreshes the metric of orders that are set aside every 10 seconds, and removes entries of orders that have changed since. */
@Injectable()
export class SetAsideGauge extends BackgroundLoop {
  constructor(database: Database, metrics: Registry, @InjectLogger() logger: Logger) {
    let count = 0;
    gauge(metrics, 'store_orders_set_aside', 'Due orders whose transition Postgres rejected', () => count);
    super(
      { name: 'count orders set aside', intervalMs: 10_000 },
      async () => {
        count = await countSetAside(database);
        await deleteOutdatedSetAside(database);
        return false;
      },
      logger,
    );
  }
}
