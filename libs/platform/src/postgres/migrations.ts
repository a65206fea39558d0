import { setTimeout } from 'node:timers/promises';
import { DataSource, MigrationExecutor, type MigrationInterface, type QueryRunner } from 'typeorm';
import type { Logger } from '../logging.js';
import { reasonOf } from '../redaction.js';
import { addressOf } from './address.js';
import type { DatabaseSettings } from './database.js';
import { listMigrations, type MigrationFile, readMigration } from './migration-files.js';
import { grantDefaults, grantExisting } from './service-role.js';
import { isConnectionError, sqlStateOf } from './sqlstate.js';
import { TypeOrmLogger } from './typeorm-logger.js';

/** How long a database is waited for that cannot be connected to. */
const connectForMs = 30_000;

/**
 * Runs what is pending of a folder of plain SQL files, in the order of their numbers, each in a transaction of its own, so
 * that a failed one leaves the earlier ones done. They only go forward, and are never edited once merged: a mistake is
 * mended by the next one. A file that begins with `-- Outside a transaction.` must bear being begun again.
 * @param options serviceRole: who is granted what a service needs, where that is somebody else than who runs this
 * @returns names of those that were run
 */
export async function runMigrations(
  settings: DatabaseSettings,
  logger: Logger,
  { extra, serviceRole }: { readonly extra: object; readonly serviceRole?: string },
): Promise<string[]> {
  const dataSource = await open(settings, logger, extra);
  const runner = dataSource.createQueryRunner();
  try {
    await lockMigrations(runner);
    // While a change of the schema waits for its lock, everybody else waits behind it.
    await runner.query(`SET lock_timeout = '8s'`);
    const executor = new MigrationExecutor(dataSource, runner);
    executor.transaction = 'each';
    const isOther = serviceRole !== undefined && (await grantDefaults(runner, serviceRole));
    const done = await executor.executePendingMigrations();
    if (isOther) await inTransaction(runner, () => grantExisting(runner, serviceRole));
    await deleteOldAuditEntries(runner);
    return done.map((migration) => migration.name);
  } finally {
    await runner.release();
    await dataSource.destroy();
  }
}

async function open(settings: DatabaseSettings, logger: Logger, extra: object): Promise<DataSource> {
  const { applicationName, migrations } = settings;
  const files = await listMigrations(migrations);
  const dataSource = new DataSource({
    type: 'postgres',
    url: addressOf(settings),
    migrations: await Promise.all(files.map(async (one) => toMigration(one, await readMigration(migrations, one)))),
    migrationsTableName: 'migrations',
    applicationName,
    poolSize: 1,
    poolErrorHandler: (error: unknown) => logger.warn({ err: error }, 'idle database connection lost'),
    // By default TypeORM writes to the console.
    logger: new TypeOrmLogger(logger),
    extra,
  });
  return connected(dataSource, logger);
}

/** A migration Job starts beside the database, or beside the operator that makes it. */
async function connected(dataSource: DataSource, logger: Logger): Promise<DataSource> {
  const end = performance.now() + connectForMs;
  for (let attempt = 0; ; attempt++) {
    try {
      return await dataSource.initialize();
    } catch (error) {
      if (!mayComeUp(error) || performance.now() >= end) throw error;
      if (attempt === 0) logger.warn({ reason: reasonOf(error), forMs: connectForMs }, 'database not usable yet, trying again');
      await setTimeout(500);
    }
  }
}

/** No server yet, or one whose role (28…) or database (3D000) is yet to be made. A certificate that is refused stays refused. */
const mayComeUp = (error: unknown): boolean => isConnectionError(error) || /^(28...|3D000)$/.test(sqlStateOf(error) ?? '');

/**
 * Held by the session, so it ends with the connection whatever happens. Asked for again and again, since who waits inside a
 * statement is waited for by CREATE INDEX CONCURRENTLY.
 */
async function lockMigrations(runner: QueryRunner): Promise<void> {
  const ask = `SELECT pg_try_advisory_lock(hashtext('migrations')) AS "isOurs"`;
  while (!((await runner.query(ask)) as { isOurs: boolean }[])[0]?.isOurs) await setTimeout(200);
}

async function inTransaction(runner: QueryRunner, work: () => Promise<void>): Promise<void> {
  await runner.startTransaction();
  try {
    await work();
    await runner.commitTransaction();
  } catch (error) {
    await runner.rollbackTransaction();
    throw error;
  }
}

/** Nobody but the owner may, and the owner is nowhere else. See the table's own migration. */
async function deleteOldAuditEntries(runner: QueryRunner): Promise<void> {
  const [table] = (await runner.query(`SELECT to_regclass('audit_log')::text AS name`)) as { name: string | null }[];
  if (table?.name) await runner.query(`DELETE FROM audit_log WHERE at < now() - interval '400 days'`);
}

/** The first line of a file whose statements build or drop indexes without stopping anybody: one at a time, each by itself. */
const outsideTransaction = '-- Outside a transaction.';

const toMigration = ({ name }: MigrationFile, sql: string): (new () => MigrationInterface) =>
  class implements MigrationInterface {
    name = name;
    transaction = !sql.startsWith(outsideTransaction);
    async up(runner: QueryRunner): Promise<void> {
      for (const statement of this.transaction ? [sql] : sql.split(/;\s*$/m)) await runner.query(statement);
    }
    async down(): Promise<void> {
      throw new Error('Migrations only go forward: write the next one.');
    }
  };
