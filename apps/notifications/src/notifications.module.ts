import { type DynamicModule, Module } from '@nestjs/common';
import { revocationLogOf } from '@plant-shop/credentials/follow-revocations';
import { RevocationLog } from '@plant-shop/credentials/revocation-log';
import type { Logger } from '@plant-shop/platform/logging';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import { Announcer } from './event-log/announcer.js';
import { EventLogRetention } from './event-log/event-log-retention.js';
import { Fanout } from './event-log/fanout.js';
import { OrderEvents } from './event-log/order-events.js';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from './options.js';
import { hasStream, hasWebhooks } from './role.js';
import { streamParts } from './stream/stream-parts.js';
import { webhookParts } from './webhooks/webhook-parts.js';
import { WebhooksController } from './webhooks/webhooks.controller.js';

@Module({})
export class NotificationsModule {
  static with(options: NotificationsOptions, logger: Logger): DynamicModule {
    const { role, publicUrl } = options;
    return {
      module: NotificationsModule,
      controllers: hasWebhooks(role) ? [WebhooksController] : [],
      providers: [
        { provide: NOTIFICATIONS_OPTIONS, useValue: options },
        { provide: RevocationLog, inject: [RpcClient], useFactory: (rpc: RpcClient) => revocationLogOf(rpc, logger) },
        Fanout,
        Announcer,
        OrderEvents,
        EventLogRetention,
        ...(hasWebhooks(role) ? webhookParts : []),
        ...(hasStream(role) ? streamParts(publicUrl) : []),
      ],
    };
  }
}
