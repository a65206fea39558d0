import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { createLogger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { roleOf } from '@plant-shop/platform/postgres/migrations';
import { createFilledDatabase, type TestDatabase } from '@plant-shop/testing/postgres';

/** Creates a database with all migrations of a folder. They run once per content of the folder. */
export async function createDatabase(migrations: URL): Promise<TestDatabase> {
  const hash = createHash('sha256').update(`${migrations.pathname} granted`);
  for (const file of (await readdir(migrations)).sort()) hash.update(file).update(await readFile(new URL(file, migrations)));
  return createFilledDatabase(`template_${hash.digest('hex').slice(0, 16)}`, ({ url, serviceUrl }) =>
    Database.migrate({ url, applicationName: 'template', poolSize: 1, migrations }, createLogger('template', 'error'), roleOf(serviceUrl)),
  );
}

/**
 * Gives a database a clock that a test can set: in statements of later sessions `now()` and `clock_timestamp()` are its own. Defaults of
 * columns keep the real one.
 * @param owner queries as the owner of the database
 * @returns sets the clock, in seconds ahead of the real one
 */
export async function giveClock(owner: { query: (text: string, values?: unknown[]) => Promise<unknown> }): Promise<(secondsAhead: number) => Promise<void>> {
  const moved = (name: string, volatility: string): string => `
    CREATE FUNCTION clock.${name}() RETURNS timestamptz LANGUAGE sql ${volatility} SECURITY DEFINER
    AS 'SELECT pg_catalog.${name}() + (SELECT ahead FROM clock.step)';`;
  await owner.query(`
    CREATE SCHEMA clock;
    CREATE TABLE clock.step (ahead interval NOT NULL);
    INSERT INTO clock.step VALUES ('0');
    ${moved('now', 'STABLE')} ${moved('clock_timestamp', 'VOLATILE')}
    GRANT USAGE ON SCHEMA clock TO PUBLIC;
    DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = clock, public, pg_catalog', current_database()); END $$`);
  return async (secondsAhead) => void (await owner.query(`UPDATE clock.step SET ahead = $1 * interval '1 second'`, [secondsAhead]));
}
