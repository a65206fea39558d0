import type { Service, ServiceConfig } from '@plant-shop/platform/service/service';
import type { NotificationsConfig } from './config.js';
import { notificationsDatabase } from './database.js';
import { NotificationsModule } from './notifications.module.js';
import { listenWithoutStream } from './stream/not-served.js';

const maxInFlight = 1_000;

export async function startNotifications(
  service: Service,
  config: Omit<NotificationsConfig, keyof ServiceConfig>,
): Promise<void> {
  await service.useDatabase(notificationsDatabase(config.databaseUrl));
  const server = await listenWithoutStream(config.streamHost, config.streamPort);
  service.onClose({ name: 'close stream port', limitMs: 1_000, run: () => void server.close() });
  await service.answer(NotificationsModule, { maxInFlight });
}
