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

/** How long to retry while the database is unreachable. */
const connectForMs = 30_000;

/**
 * Runs the pending migrations of a folder of SQL files, in the order of their numbers, each in its own transaction: the ones before a
 * failed one stay. Migrations only go forward and are never edited once merged; the next one corrects a mistake. A file that begins
 * with `-- Outside a transaction.` must be safe to run again after it failed halfway.
 * @param options serviceRole: the role that gets a service's privileges, if it is not the role that runs the migrations
 * @returns the names of the migrations that it ran
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
    // Bounds the wait for a table lock: while a schema change waits, all other sessions queue behind it.
    await runner.query(`SET lock_timeout = '8s'`);
    const executor = new MigrationExecutor(dataSource, runner);
    executor.transaction = 'each';
    const isOther = serviceRole !== undefined && (await grantDefaults(runner, serviceRole));
    const executed = await executor.executePendingMigrations();
    if (isOther) await inTransaction(runner, () => grantExisting(runner, serviceRole));
    await deleteOldAuditEntries(runner);
    return executed.map((migration) => migration.name);
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

/** Connects, and retries for 30 s: a migration Job may start together with the database, or with the operator that creates it. */
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

/** Whether the server may still be starting, or its role (28…) or database (3D000) is not created yet. A refused certificate is final. */
const mayComeUp = (error: unknown): boolean => isConnectionError(error) || /^(28...|3D000)$/.test(sqlStateOf(error) ?? '');

/**
 * Takes the advisory lock of migrations for the session, which releases it when the connection ends. Polls instead of waiting in a
 * statement: CREATE INDEX CONCURRENTLY would wait for that statement.
 */
async function lockMigrations(runner: QueryRunner): Promise<void> {
  const tryLock = `SELECT pg_try_advisory_lock(hashtext('migrations')) AS "isOurs"`;
  while (!((await runner.query(tryLock)) as { isOurs: boolean }[])[0]?.isOurs) await setTimeout(200);
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

/** Deletes old audit entries. Only the tables' owner may delete them, and only migrations run as the owner (see the table's migration). */
async function deleteOldAuditEntries(runner: QueryRunner): Promise<void> {
  const [table] = (await runner.query(`SELECT to_regclass('audit_log')::text AS name`)) as { name: string | null }[];
  if (table?.name) await runner.query(`DELETE FROM audit_log WHERE at < now() - interval '400 days'`);
}

/** The first line of a file whose statements run one at a time outside a transaction, to build or drop indexes concurrently. */
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
