import { createLogger } from '../logging.js';
import { Database, type DatabaseSettings } from '../postgres/database.js';
import { roleOf } from '../postgres/service-role.js';

/**
 * What a service's `migrate.ts` runs: brings its schema up to this build and ends; the migration Job of a deployment.
 * @param settings of the service itself
 * @param ownerUrl the same database as the owner of its tables, who then grants the service what it needs; empty: the service
 * runs as the owner
 */
export async function migrate(service: string, settings: DatabaseSettings, ownerUrl: string): Promise<void> {
  const logger = createLogger(service, 'info');
  const asOwner = { ...settings, url: ownerUrl === '' ? settings.url : ownerUrl };
  const migrations = await Database.migrate(asOwner, logger, roleOf(settings.url));
  logger.info({ migrations }, 'schema is up to date');
}
