import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { DataSource, MigrationExecutor, type MigrationInterface, type QueryRunner } from 'typeorm';
import type { Logger } from '../logging.js';
import { reasonOf } from '../redaction.js';
import { addressOf } from './address.js';
import type { DatabaseSettings } from './database.js';
import { listMigrations, type MigrationFile, modeFaultOf, readMigration, readMode } from './schema-check.js';
import { isConnectionError, sqlStateOf } from './sqlstate.js';
import { TypeOrmLogger } from './entities.js';

// A service runs as a role that may change rows but owns no tables. Only migrations run as the owner. So append-only tables stay
// append-only even if the service is compromised (docs/decisions/audit-log.md).

/** Privileges of the service role on tables that it may not change freely. */
const restrictedTables: Readonly<Record<string, string>> = { audit_log: 'SELECT, INSERT', database_mode: 'SELECT', migrations: 'SELECT' };

/** The tables, views and sequences that the current role owns, with their names quoted for SQL. */
const ownedSql = `
  SELECT c.relname AS name, c.oid::regclass::text AS "quotedName", c.relkind = 'S' AS "isSequence" FROM pg_class c
  WHERE c.relnamespace = current_schema()::regnamespace AND c.relowner = current_user::regrole AND c.relkind IN ('r', 'p', 'v', 'S')`;

interface Owned {
  readonly name: string;
  readonly quotedName: string;
  readonly isSequence: boolean;
}

/** Returns the role that a URL connects as, including the driver's default for a URL without a user. */
export const roleOf = (url: string): string => {
  const { user } = new pg.Client({ connectionString: url });
  if (!user) throw new Error('the database URL of the service names no role');
  return user;
};

/**
 * Sets default privileges, before migrations run, so that the service may use new tables at once.
 * @returns false for a service that runs as the owner and needs no privileges
 */
export async function grantDefaults(runner: QueryRunner, role: string): Promise<boolean> {
  const [{ user, schema, database }] = (await runner.query(
    'SELECT current_user AS "user", quote_ident(current_schema()) AS schema, quote_ident(current_database()) AS database',
  )) as [{ user: string; schema: string; database: string }];
  if (user === role) return false;
  const to = pg.escapeIdentifier(role);
  await runner.query(`GRANT CONNECT ON DATABASE ${database} TO ${to}`);
  await runner.query(`GRANT USAGE ON SCHEMA ${schema} TO ${to}`);
  await runner.query(`ALTER DEFAULT PRIVILEGES IN SCHEMA ${schema} GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO ${to}`);
  await runner.query(`ALTER DEFAULT PRIVILEGES IN SCHEMA ${schema} GRANT USAGE, SELECT ON SEQUENCES TO ${to}`);
  return true;
}

/** Sets the privileges on all existing tables and sequences, after migrations ran: also on those older than the role. */
export async function grantExisting(runner: QueryRunner, role: string): Promise<void> {
  const to = pg.escapeIdentifier(role);
  for (const { name, quotedName, isSequence } of (await runner.query(ownedSql)) as Owned[]) {
    const privileges = isSequence ? 'USAGE, SELECT' : (restrictedTables[name] ?? 'SELECT, INSERT, UPDATE, DELETE');
    if (name in restrictedTables) await runner.query(`REVOKE ALL ON ${quotedName} FROM ${to}`);
    await runner.query(`GRANT ${privileges} ON ${isSequence ? 'SEQUENCE ' : ''}${quotedName} TO ${to}`);
  }
}

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
    await setMode(runner, settings.sandbox);
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

/** Sets the mode that the schema writes into the database. @throws Error if the database has another one */
async function setMode(runner: QueryRunner, sandbox: boolean | undefined): Promise<void> {
  const [table] = (await runner.query(`SELECT to_regclass('database_mode')::text AS name`)) as { name: string | null }[];
  if (sandbox !== undefined && table?.name) {
    const [mode] = (await runner.query(readMode)) as { sandbox: boolean }[];
    const fault = modeFaultOf(mode?.sandbox === true, sandbox);
    if (fault !== undefined) throw new Error(fault);
  }
  await runner.query(`SELECT set_config('shop.sandbox', $1, false)`, [String(sandbox === true)]);
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
