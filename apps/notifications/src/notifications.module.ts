import { type DynamicModule, Module } from '@nestjs/common';
import { revocationLogOf } from '@plant-shop/credentials/follow-revocations';
import { RevocationLog } from '@plant-shop/credentials/revocation-log';
import type { Logger } from '@plant-shop/platform/logging';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from './options.js';
import { hasStream, hasWebhooks } from './role.js';
import { streamProviders } from './stream/stream.providers.js';
import { WebhooksController } from './webhooks/endpoints/webhooks.controller.js';
import { webhookProviders } from './webhooks/webhook.providers.js';
import { logProviders } from './event-flow.js';

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
        ...logProviders(logger),
        ...(hasWebhooks(role) ? webhookProviders : []),
        ...(hasStream(role) ? streamProviders(publicUrl) : []),
      ],
    };
  }
}
