import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../options.js';
import { QueueClock } from '../webhooks/queue/queue-clock.js';
import { enqueueOrderMails } from './mails.repository.js';

/** Maximum number of events of a step. */
const stepEvents = 2_000;

/**
 * Follows the event log with a watermark of its own, and enqueues the mails of orders: watermark and mails are written together, so none is missed
 * and none is doubled. Any number of replicas share the work, one at a time. While nobody wants mail about orders, a step passes all new events.
 */
@Injectable()
export class OrderMails extends BackgroundLoop {
  constructor(clock: QueueClock, @Inject(NOTIFICATIONS_OPTIONS) { mail }: NotificationsOptions, @InjectLogger() logger: Logger) {
    super(
      { name: 'enqueue mails of orders', intervalMs: mail.pollMs, isTraced: false },
      async () => (await clock.transaction((tx) => enqueueOrderMails(tx, stepEvents, mail.server !== undefined), { useGenericPlans: true }))?.hasMore ?? false,
      logger,
    );
  }
}
