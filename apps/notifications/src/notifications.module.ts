import { type DynamicModule, type INestApplicationContext, Module } from '@nestjs/common';
import { notifications } from '@plant-shop/contracts/notifications';
import { followRevocations, RevocationLog, revocationLogOf } from '@plant-shop/credentials/revocation-log';
import type { Logger } from '@plant-shop/platform/logging';
import { auditControllerOf } from '@plant-shop/platform/patterns/audit-log';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import type { Service, ServiceConfig } from '@plant-shop/platform/service/service';
import { Gauge, type Registry } from 'prom-client';
import { type NotificationsConfig, toOptions } from './config.js';
import { notificationsDatabase } from './database.js';
import { logProviders } from './event-flow.js';
import { BrokerGuard } from './export/broker-guard.js';
import { DestinationUpkeep } from './export/destination-upkeep.js';
import { DestinationsController, DestinationsService } from './export/destinations.service.js';
import { Exporter } from './export/exporter.js';
import { MailMetrics } from './mail/mail-metrics.js';
import { MailSweeper } from './mail/mail-sweeper.js';
import { MailWorker } from './mail/mail-worker.js';
import { OrderMails } from './mail/order-mails.js';
import { MailsController, MailsService } from './mail/mails.service.js';
import { hasExport, hasMail, hasStream, hasWebhooks, type MailOptions, NOTIFICATIONS_OPTIONS, type NotificationsOptions, type Role, type WebhooksOptions } from './options.js';
import { streamProviders } from './stream/stream.providers.js';
import { Connections } from './stream/subscribers/connections.js';
import { StreamServer } from './stream/transport/stream-server.js';
import { StreamAdapter } from './stream/transport/stream.adapter.js';
import { WebhooksController } from './webhooks/endpoints/webhooks.service.js';
import { DeliveriesController } from './webhooks/sending/deliveries.service.js';
import { SandboxController } from './webhooks/queue/sandbox.js';
import { queueProviders, webhookProviders } from './webhooks/webhook.providers.js';

@Module({})
class NotificationsModule {
  static with(options: NotificationsOptions, logger: Logger): DynamicModule {
    const { role } = options;
    return {
      module: NotificationsModule,
      controllers: hasWebhooks(role) ? [WebhooksController, DeliveriesController, MailsController, DestinationsController, auditControllerOf(notifications.readAudit), ...(options.sandbox ? [SandboxController] : [])] : [],
      providers: [
        { provide: NOTIFICATIONS_OPTIONS, useValue: options },
        { provide: RevocationLog, inject: [RpcClient], useFactory: (rpc: RpcClient) => revocationLogOf(rpc, logger) },
        ...logProviders(logger),
        ...(hasWebhooks(role) || hasMail(role) || hasExport(role) ? queueProviders : []),
        ...(hasWebhooks(role) ? [...webhookProviders, MailsService, DestinationsService] : []),
        ...(hasMail(role) ? [MailMetrics, MailWorker, OrderMails, MailSweeper] : []),
        ...(hasWebhooks(role) || hasExport(role) ? [BrokerGuard, DestinationUpkeep] : []),
        ...(hasExport(role) ? [Exporter] : []),
        ...(hasStream(role) ? streamProviders(options, logger) : []),
      ],
    };
  }
}

/** Calls in progress; further ones are refused as `overloaded`. */
const maxInFlight = 1_000;

/**
 * Starts the parts of the replica's role. Returns the port of the stream, undefined without a stream.
 * @param changed overrides options of webhooks in tests
 * @param changedMail overrides options of mail in tests
 */
export async function startNotifications(
  service: Service,
  config: Omit<NotificationsConfig, keyof ServiceConfig>,
  changed: Partial<WebhooksOptions> = {},
  changedMail: Partial<MailOptions> = {},
): Promise<{ readonly streamPort: number | undefined }> {
  await service.useDatabase(notificationsDatabase(config, config.databasePoolSize));
  const made = toOptions(config, service.config.nodeEnv === 'production');
  const options = { ...made, webhooks: { ...made.webhooks, ...changed }, mail: { ...made.mail, ...changedMail } };
  const up: { app?: INestApplicationContext } = {};
  const module = NotificationsModule.with(options, service.logger);
  if (hasStream(options.role)) {
    // Runs before calls are finished and background work ends; the service may still be starting.
    service.beforeClose({ name: 'drain the stream', limitMs: 3_500, run: () => up.app?.get(StreamServer).drain() });
  }
  // Replicas with webhooks answer all operations: others answer none, so that calls reach replicas that can.
  const sockets = hasStream(options.role) ? { webSocketAdapter: StreamAdapter } : {};
  const app = hasWebhooks(options.role) ? await service.answer(module, { maxInFlight, ...sockets }) : await service.run(module, sockets);
  up.app = app;
  followRevocations(service, app.get(RevocationLog));
  infoOfRole(service.metrics, options.role);
  if (!hasStream(options.role)) return { streamPort: undefined };
  service.readiness.requireCapacity('room', () => app.get(Connections).checkReadyForMore());
  return { streamPort: app.get(StreamServer).port };
}

function infoOfRole(metrics: Registry, role: Role): void {
  new Gauge({ name: 'notifications_role', help: 'Always 1: what this replica does', labelNames: ['role'], registers: [metrics] }).set({ role }, 1);
}
