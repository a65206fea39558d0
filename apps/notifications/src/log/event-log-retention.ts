import { LogRetention, type LowestNeeded } from '@plant-shop/events/log-retention';
import type { Logger } from '@plant-shop/platform/logging';
import type { Database } from '@plant-shop/platform/postgres/database';
import type { Registry } from 'prom-client';
import type { NotificationsOptions } from '../options.js';

/** Deletes events from the log that are older than `keepMs` and that no part in `needs` refers to. */
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
