import { readdir, readFile } from 'node:fs/promises';
import { type DataSource, MigrationExecutor, type MigrationInterface, type QueryRunner } from 'typeorm';

/**
 * Migrations are plain SQL files named `<13 digits>-<what>.sql`, run by TypeORM in the order of their numbers. They only
 * go forward, and are never edited once merged: a mistake is mended by the next one.
 */
export async function loadMigrations(folder: URL): Promise<(new () => MigrationInterface)[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort();
  return Promise.all(files.map(async (file) => toMigration(file, await readFile(new URL(file, folder), 'utf8'))));
}

function toMigration(file: string, sql: string): new () => MigrationInterface {
  const parts = /^(\d{13})-([a-z0-9-]+)\.sql$/.exec(file);
  if (!parts) throw new Error(`${file} is not named <13 digits>-<what>.sql`);
  // TypeORM reads the order from the digits at the end of the name.
  const name = `${parts[2] ?? ''}${parts[1] ?? ''}`;
  return class implements MigrationInterface {
    name = name;
    async up(runner: QueryRunner): Promise<void> {
      await runner.query(sql);
    }
    async down(): Promise<void> {
      throw new Error('Migrations only go forward: write the next one.');
    }
  };
}

/** Runs what is pending, each migration in a transaction of its own, so that a failed one leaves the earlier ones done. */
export async function runMigrations(dataSource: DataSource): Promise<string[]> {
  const runner = dataSource.createQueryRunner();
  try {
    // Held by the session, so it ends with the connection whatever happens.
    await runner.query(`SELECT pg_advisory_lock(hashtext('migrations'))`);
    // While a change of the schema waits for its lock, everybody else waits behind it.
    await runner.query(`SET lock_timeout = '8s'`);
    const executor = new MigrationExecutor(dataSource, runner);
    executor.transaction = 'each';
    const done = await executor.executePendingMigrations();
    return done.map((migration) => migration.name);
  } finally {
    await runner.release();
  }
}

/**
 * Names of this build's migrations that the database lacks. TypeORM's own question creates its table when there is none:
 * a service that starts beside its migration job would make that job fail.
 */
export async function pendingMigrations(
  dataSource: DataSource,
  query: (text: string) => Promise<{ name: string | null }[]>,
): Promise<string[]> {
  const [table] = await query(`SELECT to_regclass('migrations')::text AS name`);
  const done = new Set(table?.name ? (await query('SELECT name FROM migrations')).map((row) => row.name) : []);
  return dataSource.migrations.flatMap(({ name }) => (name !== undefined && !done.has(name) ? [name] : []));
}
