import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { type CheckoutPolicy, STORE_OPTIONS, type StoreOptions } from '../options.js';
import { dueAfterPlacing } from '../orders/order.js';
import { msToNextDue } from './due-orders.repository.js';
import { DueOrdersService } from './due-orders.service.js';

const batch = 500;

/** Minimum between two polls, so that orders that come due shortly after each other share a batch. */
const shortestPauseMs = 200;
const longestPauseMs = 1_000;

/**
 * Polls for due orders and applies their transitions. The orders' rows store what is due and when, so it survives restarts. The
 * clock is the database's. Replicas share the work: each takes only rows that no other replica has locked.
 *
 * Sleeps until the next order is due, but no longer than an order placed meanwhile, on any replica, takes to come due. So every
 * order is processed at most `shortestPauseMs` after its due time, plus the time of the transaction.
 */
@Injectable()
export class DueOrdersLoop extends BackgroundLoop {
  constructor(database: Database, dueOrders: DueOrdersService, @Inject(STORE_OPTIONS) { checkout }: StoreOptions, @InjectLogger() logger: Logger) {
    const intervalMs = withinPauses(shortestDelayMs(checkout));
    super(
      { name: 'due orders', intervalMs },
      async () => {
        const inMs = await msToNextDue(database);
        if (inMs === undefined || inMs > 0) return pauseMs(inMs, intervalMs);
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
