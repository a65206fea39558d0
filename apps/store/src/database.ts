import type { DatabaseSettings } from '@plant-shop/platform/postgres/database';

export const migrationsFolder = new URL('../migrations/', import.meta.url);

/** The store's hot paths are SQL, so it has no entities. */
export const storeDatabase = (url: string, poolSize = 16): DatabaseSettings => ({
  url,
  applicationName: 'store',
  poolSize,
  migrations: migrationsFolder,
});
