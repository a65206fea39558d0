import type { DatabaseConfig } from '@plant-shop/platform/postgres/address';
import type { DatabaseSettings } from '@plant-shop/platform/postgres/database';
import { WebhookEntity } from './webhooks/endpoints/webhook.entity.js';

export const migrationsFolder = new URL('../migrations/', import.meta.url);

export const notificationsDatabase = ({ databaseUrl, databaseCa }: DatabaseConfig, poolSize: number): DatabaseSettings => ({
  url: databaseUrl,
  ca: databaseCa,
  applicationName: 'notifications',
  poolSize,
  migrations: migrationsFolder,
  entities: [WebhookEntity],
});
