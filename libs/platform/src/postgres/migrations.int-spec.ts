import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { createEmptyDatabase, type TestDatabase } from '@plant-shop/testing/postgres';
import { startProxy } from '@plant-shop/testing/proxy';
import { createLogger } from '../logging.js';
import { Database, type DatabaseSettings } from './database.js';
import { listMigrations } from './schema-check.js';

const logger = createLogger('test', 'silent');
const pending = 'migrations are pending: run migrate';

describe('migrations', () => {
  let folder: string;
  let test: TestDatabase;
  let database: Database | undefined;
  const given = (): DatabaseSettings => ({
    url: test.url,
    applicationName: 'test',
    poolSize: 2,
    migrations: pathToFileURL(`${folder}/`),
  });
  const write = (name: string, sql: string): Promise<void> => writeFile(join(folder, name), sql);
  const open = async (): Promise<Database> => {
    await database?.close();
    return (database = await Database.connect(given(), logger));
  };
  const tables = async (): Promise<string[]> => {
    const rows = await (database ?? (await open())).query<{ name: string }>(
      `SELECT table_name::text AS name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY name`,
    );
    return rows.map((row) => row.name);
  };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'migrations-'));
    test = await createEmptyDatabase();
  });
  afterEach(async () => {
    await database?.close();
    database = undefined;
    await test.disconnect();
    await rm(folder, { recursive: true });
  });

  it('run in the order of their numbers, each once', async () => {
    await write('1764000000002-second.sql', 'ALTER TABLE a ADD COLUMN b int');
    await write('1764000000001-first.sql', 'CREATE TABLE a (id int); CREATE TABLE c (id int)');
    await expect(Database.migrate(given(), logger)).resolves.toEqual(['first1764000000001', 'second1764000000002']);
    await expect(Database.migrate(given(), logger)).resolves.toEqual([]);
    await expect(tables()).resolves.toEqual(['a', 'c', 'migrations']);
  });

  it('build an index concurrently, also after an interruption and when several run at once (slow)', async () => {
    await write('1764000000001-first.sql', 'CREATE TABLE a (id int); INSERT INTO a VALUES (1), (1)');
    const unique = `-- Outside a transaction.
      DROP INDEX CONCURRENTLY IF EXISTS one_each;
      CREATE UNIQUE INDEX CONCURRENTLY one_each ON a (id);`;
    await write('1764000000002-second.sql', unique);
    await expect(Database.migrate(given(), logger)).rejects.toThrow('one_each');
    await (await open()).query('DELETE FROM a');
    const done = await Promise.all([1, 2, 3].map(() => Database.migrate(given(), logger)));
    expect(done.flat()).toEqual(['second1764000000002']);
    const indexes = `SELECT indisvalid AS "isValid" FROM pg_index WHERE indexrelid = 'one_each'::regclass`;
    await expect(database?.query(indexes)).resolves.toEqual([{ isValid: true }]);
  });

  it('keep the earlier ones when one fails, and nothing of the failed one', async () => {
    await write('1764000000001-first.sql', 'CREATE TABLE a (id int)');
    await write('1764000000002-second.sql', 'CREATE TABLE b (id int); SELECT 1/0');
    await expect(Database.migrate(given(), logger)).rejects.toThrow('division by zero');
    await expect(tables()).resolves.toEqual(['a', 'migrations']);
    await expect((await open()).schemaFault()).resolves.toBe(pending);
    await write('1764000000002-second.sql', 'CREATE TABLE b (id int)');
    await expect(Database.migrate(given(), logger)).resolves.toEqual(['second1764000000002']);
  });

  it('run once when two processes start at the same time: the second one waits (slow)', async () => {
    await write('1764000000001-slow.sql', 'CREATE TABLE a (id int); SELECT pg_sleep(0.3)');
    const done = await Promise.all([Database.migrate(given(), logger), Database.migrate(given(), logger)]);
    expect(done.flat()).toEqual(['slow1764000000001']);
  });

  it('are pending until they have run; the check changes nothing, so it may run beside a starting migration (slow)', async () => {
    await write('1764000000001-first.sql', 'CREATE TABLE a (id int)');
    await open();
    await expect(database!.schemaFault()).resolves.toBe(pending);
    await expect(tables()).resolves.toEqual([]);
    await database!.migrate();
    await expect(database!.schemaFault()).resolves.toBeUndefined();
  });

  it('of a newer release do not keep an older release from starting', async () => {
    await write('1764000000001-first.sql', 'CREATE TABLE a (id int)');
    await write('1764000000002-newer.sql', 'CREATE TABLE b (id int)');
    await Database.migrate(given(), logger);
    await rm(join(folder, '1764000000002-newer.sql'));
    await expect((await open()).schemaFault()).resolves.toBeUndefined();
  });

  it('wait for a database that is still starting (slow)', async () => {
    await write('1764000000001-first.sql', 'CREATE TABLE a (id int)');
    const url = new URL(test.url);
    const network = await startProxy({ host: url.hostname, port: Number(url.port) });
    url.port = String(network.port);
    try {
      await network.cut();
      const done = Database.migrate({ ...given(), url: url.href }, logger);
      await sleep(1_200);
      await network.restore();
      await expect(done).resolves.toEqual(['first1764000000001']);
    } finally {
      await network.stop();
    }
  });

  it('do not wait when the connection fails for another reason', async () => {
    const startedAt = performance.now();
    await expect(Database.migrate({ ...given(), url: `${test.url}?sslmode=verify-full` }, logger)).rejects.toThrow('does not support SSL');
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });

  it('are refused if a file name lacks the 13 digits or the description', async () => {
    await write('1-first.sql', 'SELECT 1');
    await expect(listMigrations(given().migrations)).rejects.toThrow('1-first.sql is not named <13 digits>-<what>.sql');
  });
});
