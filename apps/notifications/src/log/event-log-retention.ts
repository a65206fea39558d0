import { LogRetention, type LowestNeeded } from '@plant-shop/events/log-retention';
import type { Logger } from '@plant-shop/platform/logging';
import type { Database } from '@plant-shop/platform/postgres/database';
import type { Registry } from 'prom-client';
import type { NotificationsOptions } from '../options.js';

/** Deletes old events from the log. */
export class EventLogRetention extends LogRetention {
  constructor(
    database: Database,
    metrics: Registry,
    options: NotificationsOptions,
    logger: Logger,
    needs: readonly LowestNeeded[],
  ) {
    super(database, { keepMs: options.eventLog.keepMs, needs }, metrics, logger);
  }
}
