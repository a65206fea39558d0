import { createLogger } from '../logging.js';
import { Database, type DatabaseSettings } from '../postgres/database.js';
import { roleOf } from '../postgres/service-role.js';
import { reasonOf } from '../redaction.js';

/**
 * What a service's `migrate.ts` runs: brings its schema up to this build and ends; the migration Job of a deployment. It waits
 * 30 s for a database that cannot be connected to. A failure is one line of the log, and exit code 1.
 * @param settings of the service itself
 * @param ownerUrl the same database as the owner of its tables, who then grants the service what it needs; empty: the service
 * runs as the owner
 */
export async function migrate(service: string, settings: DatabaseSettings, ownerUrl: string): Promise<void> {
  const logger = createLogger(service, 'info');
  const asOwner = { ...settings, url: ownerUrl === '' ? settings.url : ownerUrl };
  try {
    const migrations = await Database.migrate(asOwner, logger, roleOf(settings.url));
    logger.info({ migrations }, 'schema is up to date');
  } catch (error) {
    logger.fatal({ reason: reasonOf(error) }, 'not migrated');
    process.exitCode = 1;
  }
}
