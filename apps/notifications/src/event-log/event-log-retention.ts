import { Inject, Injectable } from '@nestjs/common';
import { LogRetention, type LowestNeeded } from '@plant-shop/events/log-retention';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { Registry } from 'prom-client';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../options.js';
import { findMadeForAllUpTo } from '../webhooks/webhook-watermark.repository.js';

/** Whoever refers to events of the log by number says here which is the lowest that it needs: none is deleted from there on. */
const needs: readonly LowestNeeded[] = [
  async (tx) => {
    const made = await findMadeForAllUpTo(tx);
    return made === undefined ? undefined : made + 1;
  },
];

/** Deletes old events from the log. */
@Injectable()
export class EventLogRetention extends LogRetention {
  constructor(
    database: Database,
    metrics: Registry,
    @Inject(NOTIFICATIONS_OPTIONS) options: NotificationsOptions,
    @InjectLogger() logger: Logger,
  ) {
    super(database, { keepMs: options.eventLog.keepMs, needs }, metrics, logger);
  }
}
