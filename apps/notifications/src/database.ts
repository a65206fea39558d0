import type { DatabaseSettings } from '@plant-shop/platform/postgres/database';

export const migrationsFolder = new URL('../migrations/', import.meta.url);

export const notificationsDatabase = (url: string, poolSize = 10): DatabaseSettings => ({
  url,
  applicationName: 'notifications',
  poolSize,
  migrations: migrationsFolder,
});
