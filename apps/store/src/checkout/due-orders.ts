import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/parts.module';
import { OrderFeed } from '../feed/order-feed.js';
import { moveOrders } from '../orders/move-orders.js';
import { takeDueOrders } from '../orders/orders.repository.js';
import { STORE_OPTIONS, type StoreOptions } from '../options.js';
import type { Due } from './checkout.js';

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
export class DueOrders implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loop: BackgroundLoop;

  constructor(
    private readonly database: Database,
    private readonly feed: OrderFeed,
    @Inject(STORE_OPTIONS) private readonly options: StoreOptions,
    @InjectLogger() private readonly logger: Logger,
  ) {
    this.loop = new BackgroundLoop({ name: 'due orders', intervalMs: 200 }, () => this.run(), logger);
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  /** One batch. @returns whether more may be due */
  async run(): Promise<boolean> {
    const taken = await this.database.transaction(async (tx) => {
      const due = await takeDueOrders(tx, batch);
      const moved = await moveOrders(
        tx,
        this.options.checkout,
        due.map(({ id, move }) => ({ orderId: id, move, actor: 'store', reason: reasons[move] })),
      );
      if (moved.length > 0) this.logger.debug({ moved: moved.length }, 'due orders moved');
      return due.length;
    });
    if (taken > 0) this.feed.moved();
    return taken === batch;
  }
}
