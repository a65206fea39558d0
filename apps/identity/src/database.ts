import type { DatabaseSettings } from '@plant-shop/platform/postgres/database';

export const migrationsFolder = new URL('../migrations/', import.meta.url);

/** Few tables, each with few questions: all of it is SQL, so there are no entities. */
export const identityDatabase = (url: string, poolSize = 12): DatabaseSettings => ({
  url,
  applicationName: 'identity',
  poolSize,
  migrations: migrationsFolder,
});
