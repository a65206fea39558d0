import type { DatabaseConfig } from '@plant-shop/platform/postgres/address';
import type { DatabaseSettings } from '@plant-shop/platform/postgres/database';

export const migrationsFolder = new URL('../migrations/', import.meta.url);

/** Without entities: a plant is one row, read and written as a whole; the rest is locks and pages. */
export const catalogDatabase = ({ databaseUrl, databaseCa }: DatabaseConfig, poolSize: number): DatabaseSettings => ({
  url: databaseUrl,
  ca: databaseCa,
  applicationName: 'catalog',
  poolSize,
  migrations: migrationsFolder,
});
