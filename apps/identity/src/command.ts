import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { type Actor, operator } from '@plant-shop/platform/patterns/audit-log';
import { CodedError } from '@plant-shop/platform/errors';
import { createLogger, type Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import type { IdentityConfig } from './config.js';
import { identityDatabase } from './database.js';

/**
 * Runs an operator's command on identity's database. The process then exits with 0, or with 1 and the reason. The result
 * goes to standard output. The log goes to standard error with the host name and a request id, which the audit log's
 * entry carries too.
 */
export async function runCommand(
  config: Pick<IdentityConfig, 'databaseUrl' | 'databaseCa' | 'sandbox'>,
  command: (database: Database, actor: Actor, logger: Logger) => Promise<string>,
): Promise<void> {
  const requestId = randomUUID();
  const logger = createLogger('identity', 'info', process.stderr).child({ host: hostname(), requestId });
  let database: Database | undefined;
  try {
    database = await Database.connect(identityDatabase(config, 1), logger);
    if ((await database.schemaFault()) !== undefined) throw new CodedError('unavailable', 'Run migrate first.');
    process.stdout.write(`${await command(database, operator(requestId), logger)}\n`);
  } catch (error) {
    process.exitCode = 1;
    if (error instanceof CodedError) process.stderr.write(`${error.message}\n`);
    else logger.error(error);
  } finally {
    await database?.close();
  }
}

/** Prints how to use the command and exits with 64, the usage error of sysexits.h. */
export function exitWithUsage(usage: string): never {
  process.stderr.write(`usage: ${usage}\n`);
  process.exit(64);
}
