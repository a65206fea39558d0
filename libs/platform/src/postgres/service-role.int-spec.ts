import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createEmptyDatabase, type TestDatabase } from '@plant-shop/testing/postgres';
import { createLogger } from '../logging.js';
import { Database } from './database.js';
import { roleOf } from './migrations.js';
import { sqlStateOf } from './sqlstate.js';

const insufficientPrivilege = '42501';

describe('the role that a service runs as', () => {
  let folder: string;
  let testDatabase: TestDatabase;
  let service: Database;
  const logger = createLogger('test', 'fatal');
  const settings = (url: string) => ({ url, applicationName: 'test', poolSize: 1, entities: [], migrations: pathToFileURL(`${folder}/`) });
  const write = (file: string, sql: string) => writeFile(join(folder, file), sql);
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'roles-'));
    await write('1000000000000-things.sql', 'CREATE TABLE things (id bigint GENERATED ALWAYS AS IDENTITY, name text); CREATE SEQUENCE numbers;');
    await write('1000000000001-audit.sql', 'CREATE TABLE audit_log (at timestamptz NOT NULL)');
    testDatabase = await createEmptyDatabase();
    await Database.migrate(settings(testDatabase.url), logger, roleOf(testDatabase.serviceUrl));
    service = await Database.connect(settings(testDatabase.serviceUrl), logger);
  });
  afterAll(async () => {
    await service.close();
    await testDatabase.disconnect();
    await rm(folder, { recursive: true });
  });
  const refusalOf = (statement: string): Promise<string | undefined> =>
    service.transaction((tx) => tx.execute(statement)).then(() => undefined, sqlStateOf);

  it.each([
    `INSERT INTO things (name) VALUES ('a')`,
    `UPDATE things SET name = 'b'`,
    'SELECT * FROM things FOR UPDATE',
    'DELETE FROM things',
    `SELECT nextval('numbers')`,
    'SELECT last_value FROM numbers',
    'INSERT INTO audit_log VALUES (now())',
    'SELECT * FROM audit_log',
    'SELECT name FROM migrations',
  ])('may %s', async (statement) => {
    expect(await refusalOf(statement)).toBeUndefined();
  });

  it.each([
    'TRUNCATE things',
    'DROP TABLE things',
    'ALTER TABLE things ADD COLUMN x int',
    `SELECT setval('numbers', 1)`,
    'CREATE TABLE others (x int)',
    'UPDATE audit_log SET at = now()',
    'DELETE FROM audit_log',
    'TRUNCATE audit_log',
    'SELECT * FROM audit_log FOR UPDATE',
    `DELETE FROM migrations`,
    `INSERT INTO migrations (timestamp, name) VALUES (1, 'x')`,
  ])('may not %s', async (statement) => {
    expect(await refusalOf(statement)).toBe(insufficientPrivilege);
  });

  it('may use tables of later migrations at once, and tables that the owner created by hand after the next migration', async () => {
    await write('1000000000002-more.sql', 'CREATE TABLE more (id bigserial)');
    const owner = await Database.connect(settings(testDatabase.url), logger);
    await owner.query('CREATE TABLE by_hand (x int)');
    await owner.query(`REVOKE ALL ON by_hand FROM ${roleOf(testDatabase.serviceUrl)}`);
    await owner.close();
    expect(await refusalOf('INSERT INTO by_hand VALUES (1)')).toBe(insufficientPrivilege);
    expect(await Database.migrate(settings(testDatabase.url), logger, roleOf(testDatabase.serviceUrl))).toEqual(['more1000000000002']);
    expect(await refusalOf('INSERT INTO more DEFAULT VALUES')).toBeUndefined();
    expect(await refusalOf('INSERT INTO by_hand VALUES (1)')).toBeUndefined();
    // Migrating again grants nothing more.
    expect(await Database.migrate(settings(testDatabase.url), logger, roleOf(testDatabase.serviceUrl))).toEqual([]);
    expect(await refusalOf('DELETE FROM audit_log')).toBe(insufficientPrivilege);
  });

  it('may be the owner, who needs no privileges', async () => {
    await expect(Database.migrate(settings(testDatabase.url), logger, roleOf(testDatabase.url))).resolves.toEqual([]);
  });

  it('keeps audit entries for 400 days: each migration deletes older ones', async () => {
    await service.query(`INSERT INTO audit_log VALUES (now() - interval '401 days'), (now() - interval '399 days')`);
    await Database.migrate(settings(testDatabase.url), logger, roleOf(testDatabase.serviceUrl));
    const [left] = await service.query<{ old: number }>(`SELECT count(*) FILTER (WHERE at < now() - interval '1 day') AS old FROM audit_log`);
    expect(left).toEqual({ old: 1 });
  });
});
