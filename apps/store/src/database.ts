import type { DatabaseConfig } from '@plant-shop/platform/postgres/address';
import type { DatabaseSettings } from '@plant-shop/platform/postgres/database';

export const migrationsFolder = new URL('../migrations/', import.meta.url);

/** Without entities: the hot paths are hand-written SQL. */
export const storeDatabase = ({ databaseUrl, databaseCa }: DatabaseConfig, poolSize: number): DatabaseSettings => ({
  url: databaseUrl,
  ca: databaseCa,
  applicationName: 'store',
  poolSize,
  migrations: migrationsFolder,
});
