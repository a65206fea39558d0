import { Injectable } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { gauge } from '@plant-shop/platform/service/metrics';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { Registry } from 'prom-client';
import { countRefundsDue } from './refunds.repository.js';

/** Refreshes the metrics of due refunds every 10 seconds. */
@Injectable()
export class RefundsDueGauge extends BackgroundLoop {
  constructor(database: Database, metrics: Registry, @InjectLogger() logger: Logger) {
    let due = { count: 0, oldestSeconds: 0 };
    gauge(metrics, 'store_refunds_due', 'Refunds that are due', () => due.count);
    gauge(metrics, 'store_refund_oldest_due_seconds', 'Age of the oldest due refund in seconds; 0: none is due', () => due.oldestSeconds);
    super(
      { name: 'count refunds due', intervalMs: 10_000 },
      async () => {
        due = await countRefundsDue(database);
        return false;
      },
      logger,
    );
  }
}
