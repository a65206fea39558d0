import type { DatabaseConfig } from '@plant-shop/platform/postgres/address';
import type { DatabaseSettings } from '@plant-shop/platform/postgres/database';

export const migrationsFolder = new URL('../migrations/', import.meta.url);

/** The store's hot paths are SQL, so it has no entities. */
export const storeDatabase = ({ databaseUrl, databaseCa }: DatabaseConfig, poolSize: number): DatabaseSettings => ({
  url: databaseUrl,
  ca: databaseCa,
  applicationName: 'store',
  poolSize,
  migrations: migrationsFolder,
});
