import { Injectable } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { gauge } from '@plant-shop/platform/service/metrics';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { Registry } from 'prom-client';
import { countSetAside, deleteOutdatedSetAside } from './due-orders.repository.js';

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
