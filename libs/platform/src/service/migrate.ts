import { createLogger } from '../logging.js';
import { Database, type DatabaseSettings } from '../postgres/database.js';
import { roleOf } from '../postgres/migrations.js';
import { reasonOf } from '../redaction.js';

/**
 * Runs a service's pending migrations, for its `migrate.ts` (the migration Job of a deployment). Retries for 30 s while the database
 * is unreachable. Logs a failure in one line and sets exit code 1.
 * @param settings the service's own settings
 * @param ownerUrl the URL of the same database for the owner of its tables, which grants the service its privileges; if empty, the
 * service runs as the owner
 */
export async function migrate(service: string, settings: DatabaseSettings, ownerUrl: string): Promise<void> {
  const logger = createLogger(service, 'info');
  const asOwner = { ...settings, url: ownerUrl === '' ? settings.url : ownerUrl };
  try {
    const migrations = await Database.migrate(asOwner, logger, roleOf(settings.url));
    logger.info({ migrations }, 'schema is up to date');
  } catch (error) {
    logger.fatal({ reason: reasonOf(error) }, 'migration failed');
    process.exitCode = 1;
  }
}
