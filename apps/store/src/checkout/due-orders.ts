import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { STORE_OPTIONS, type StoreOptions } from '../options.js';
import { type CheckoutPolicy, dueAfterPlacing } from '../orders/order.js';
import { DueOrderMover } from './due-order-mover.js';
import { msToNextDue } from './due-orders.repository.js';

const batch = 500;

/** Between two looks at least: orders that come due one after the other are moved together. */
const shortestPauseMs = 200;
const longestPauseMs = 1_000;

/**
 * Does what orders are due for. What is due and when stands in the orders' rows, so it survives every restart; the clock
 * is the database's; replicas share the work, since each takes only rows that no other has locked.
 *
 * It waits for the next order that will be due, whoever placed it, and looks as often as an order can be placed and come due:
 * so each is seen before its time, and moved at most the shortest pause after it.
 */
@Injectable()
export class DueOrders extends BackgroundLoop {
  constructor(database: Database, mover: DueOrderMover, @Inject(STORE_OPTIONS) { checkout }: StoreOptions, @InjectLogger() logger: Logger) {
    const intervalMs = withinPauses(shortestDelayMs(checkout));
    super(
      { name: 'due orders', intervalMs },
      async () => {
        const inMs = await msToNextDue(database);
        if (inMs === undefined || inMs > 0) return pauseMs(inMs, intervalMs);
        return (await mover.moveBatch(batch)) === batch || shortestPauseMs;
      },
      logger,
    );
  }
}

/**
 * How long until the next look, in milliseconds.
 * @param inMs until the next order that is there now is due; undefined when none is
 * @param intervalMs what an order that is placed meanwhile takes at least to come due, within the pauses
 */
export const pauseMs = (inMs: number | undefined, intervalMs: number): number =>
  inMs === undefined || inMs >= intervalMs ? intervalMs : withinPauses(Math.ceil(inMs));

/** The shortest time in which the store takes a step of an order on its own. */
export function shortestDelayMs(policy: CheckoutPolicy): number {
  const placed = dueAfterPlacing(policy).inMs;
  return policy.provider === 'simulated' ? Math.min(placed, policy.deliveryDelayMs) : placed;
}

const withinPauses = (ms: number): number => Math.min(Math.max(ms, shortestPauseMs), longestPauseMs);
