import { type DynamicModule, Module } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { EventLogRetention } from './event-log/event-log-retention.js';
import { OrderEvents } from './event-log/order-events.js';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from './options.js';
import { streamParts } from './stream/stream-parts.js';
import { webhookParts } from './webhooks/webhook-parts.js';
import { WebhooksController } from './webhooks/webhooks.controller.js';

@Module({})
export class NotificationsModule {
  static with(options: NotificationsOptions, logger: Logger): DynamicModule {
    return {
      module: NotificationsModule,
      controllers: [WebhooksController],
      providers: [{ provide: NOTIFICATIONS_OPTIONS, useValue: options }, OrderEvents, EventLogRetention, ...webhookParts, ...streamParts(options.publicUrl, logger)],
    };
  }
}
