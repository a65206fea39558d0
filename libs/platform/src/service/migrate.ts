import { createLogger } from '../logging.js';
import { Database, type DatabaseSettings } from '../postgres/database.js';

/** What a service's `migrate.ts` runs: brings its schema up to this build and ends; the migration Job of a deployment. */
export async function migrate(service: string, settings: DatabaseSettings): Promise<void> {
  const logger = createLogger(service, 'info');
  logger.info({ migrations: await Database.migrate(settings, logger) }, 'schema is up to date');
}
