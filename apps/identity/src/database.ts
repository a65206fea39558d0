import type { DatabaseConfig } from '@plant-shop/platform/postgres/address';
import type { DatabaseSettings } from '@plant-shop/platform/postgres/database';
import { OAuthClientEntity } from './oauth/oauth-client.entity.js';
import { UserEntity } from './users/user.entity.js';

export const migrationsFolder = new URL('../migrations/', import.meta.url);

export const identityDatabase = ({ databaseUrl, databaseCa }: DatabaseConfig, poolSize: number): DatabaseSettings => ({
  url: databaseUrl,
  ca: databaseCa,
  applicationName: 'identity',
  poolSize,
  migrations: migrationsFolder,
  entities: [OAuthClientEntity, UserEntity],
});
