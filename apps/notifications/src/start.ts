import type { INestApplicationContext } from '@nestjs/common';
import { followRevocations } from '@plant-shop/credentials/follow-revocations';
import { RevocationLog } from '@plant-shop/credentials/revocation-log';
import type { Service, ServiceConfig } from '@plant-shop/platform/service/service';
import { Gauge, type Registry } from 'prom-client';
import type { NotificationsConfig } from './config.js';
import { notificationsDatabase } from './database.js';
import { NotificationsModule } from './notifications.module.js';
import { toOptions } from './options.js';
import { hasStream, hasWebhooks, type Role } from './role.js';
import { Connections } from './stream/connections.js';
import { StreamServer } from './stream/stream-server.js';
import { StreamAdapter } from './stream/stream.adapter.js';
import type { WebhooksOptions } from './webhooks/endpoints/options.js';

/** Beyond it callers are told to come back. */
const maxInFlight = 1_000;

/**
 * @param changed what a test of webhooks needs to be other than the settings make it
 * @returns where the stream listens, undefined for a replica without one
 */
export async function startNotifications(
  service: Service,
  config: Omit<NotificationsConfig, keyof ServiceConfig>,
  changed: Partial<WebhooksOptions> = {},
): Promise<{ readonly streamPort: number | undefined }> {
  await service.useDatabase(notificationsDatabase(config, config.databasePoolSize));
  const made = toOptions(config, service.config.nodeEnv === 'production');
  const options = { ...made, webhooks: { ...made.webhooks, ...changed } };
  const up: { app?: INestApplicationContext } = {};
  const module = NotificationsModule.with(options, service.logger);
  if (hasStream(options.role)) {
    // Before calls are finished and background work ends, and while the service may still be coming up.
    service.beforeClose({ name: 'drain the stream', limitMs: 3_500, run: () => up.app?.get(StreamServer).drain() });
  }
  // All calls are about webhooks: a replica of the stream takes none, so that they go to those that can answer.
  const sockets = hasStream(options.role) ? { webSocketAdapter: StreamAdapter } : {};
  const app = hasWebhooks(options.role) ? await service.answer(module, { maxInFlight, ...sockets }) : await service.run(module, sockets);
  up.app = app;
  followRevocations(service, app.get(RevocationLog));
  infoOfRole(service.metrics, options.role);
  if (!hasStream(options.role)) return { streamPort: undefined };
  service.readiness.requireCapacity('room', () => app.get(Connections).checkNotFull());
  return { streamPort: app.get(StreamServer).port };
}

function infoOfRole(metrics: Registry, role: Role): void {
  new Gauge({ name: 'notifications_role', help: 'Always 1: what this replica does', labelNames: ['role'], registers: [metrics] }).set({ role }, 1);
}
