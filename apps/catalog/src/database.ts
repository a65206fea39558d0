import type { DatabaseSettings } from '@plant-shop/platform/postgres/database';

export const migrationsFolder = new URL('../migrations/', import.meta.url);

/** No entities: a plant is one row that is read and written whole, and the rest is locks and pages. */
export const catalogDatabase = (url: string, poolSize = 16): DatabaseSettings => ({
  url,
  applicationName: 'catalog',
  poolSize,
  migrations: migrationsFolder,
});
