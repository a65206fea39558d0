import type { Service, ServiceConfig } from '@plant-shop/platform/service/service';
import type { NotificationsConfig } from './config.js';
import { notificationsDatabase } from './database.js';
import { NotificationsModule } from './notifications.module.js';
import { toOptions } from './options.js';
import { StreamServer } from './stream/stream-server.js';

/** Only readiness is asked of it. */
const maxInFlight = 100;

/** @returns where the stream listens */
export async function startNotifications(
  service: Service,
  config: Omit<NotificationsConfig, keyof ServiceConfig>,
): Promise<{ readonly streamPort: number }> {
  await service.useDatabase(notificationsDatabase(config.databaseUrl));
  const app = await service.answer(NotificationsModule.with(toOptions(config)), { maxInFlight });
  return { streamPort: app.get(StreamServer).port };
}
