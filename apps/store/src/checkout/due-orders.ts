import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/parts.module';
import { OrderFeed } from '../feed/order-feed.js';
import { LockedOrders } from '../orders/locked-orders.js';
import { takeDueOrders } from '../orders/orders.repository.js';
import { STORE_OPTIONS, type StoreOptions } from '../options.js';
import type { CheckoutPolicy, Due } from './checkout.js';

const batch = 500;

const reasons: Readonly<Record<Due['move'], string>> = {
  approve: 'payment succeeded (simulated)',
  deliver: 'delivered (simulated)',
  expire: 'expired without payment',
};

/**
 * Does what orders are due for. What is due and when stands in the orders' rows, so it survives every restart; the clock
 * is the database's; replicas share the work, since each takes only rows that no other has locked.
 */
@Injectable()
export class DueOrders extends BackgroundLoop {
  constructor(database: Database, feed: OrderFeed, @Inject(STORE_OPTIONS) options: StoreOptions, @InjectLogger() logger: Logger) {
    super({ name: 'due orders', intervalMs: 200 }, () => moveDueOrders(database, feed, options.checkout), logger);
  }
}

/** One batch. @returns whether more may be due */
async function moveDueOrders(database: Database, feed: OrderFeed, policy: CheckoutPolicy): Promise<boolean> {
  const taken = await database.transaction(async (tx) => {
    const due = await takeDueOrders(tx, batch);
    if (due.length === 0) return 0;
    const orders = await LockedOrders.lock(tx, due.map(({ id }) => id));
    for (const { id, move } of due) orders.move({ orderId: id, move, actor: 'store', reason: reasons[move] }, policy);
    orders.write(tx);
    return due.length;
  });
  if (taken > 0) feed.moved();
  return taken === batch;
}
