import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createEmptyDatabase, type TestDatabase } from '@plant-shop/testing/postgres';
import pg from 'pg';
import { CodedError } from '../errors.js';
import { createLogger } from '../logging.js';
import { Database, type DatabaseSettings } from './database.js';
import { roleOf } from './migrations.js';

const silent = createLogger('test', 'silent');
const pending = 'migrations are pending: run migrate';
const all = 'SELECT id, note, double(1) FROM things';

describe('a database that changes under a running service', () => {
  let folder: string;
  let test: TestDatabase;
  let service: Database;
  let logged: string[];
  const settings = (url: string): DatabaseSettings => ({ url, applicationName: 'test', poolSize: 2, migrations: pathToFileURL(`${folder}/`) });
  const migrate = (): Promise<string[]> => Database.migrate(settings(test.url), silent, roleOf(test.serviceUrl));
  const write = (name: string, sql: string): Promise<void> => writeFile(join(folder, name), sql);

  /** Runs statements as the owner, on another database of the server where the database itself is replaced. */
  async function asOwner(sql: readonly string[]): Promise<void> {
    const url = new URL(test.url);
    const name = url.pathname.slice(1);
    if (sql.some((one) => one.includes('DATABASE'))) url.pathname = '/postgres';
    const owner = new pg.Client({ connectionString: url.href });
    await owner.connect();
    try {
      for (const one of sql) await owner.query(one.replaceAll('$name', name));
    } finally {
      await owner.end();
    }
  }

  const outcomeOf = (work: Promise<unknown>): Promise<string> => work.then(() => 'done', (error: unknown) => (error instanceof CodedError ? error.code : `defect: ${(error as Error).message}`));
  /** A statement of its own, one in a transaction, and one that is sent together with the COMMIT. */
  const outcomes = (statement = all): Promise<string[]> =>
    Promise.all([
      outcomeOf(service.query(statement)),
      outcomeOf(service.transaction((tx) => tx.query(statement))),
      outcomeOf(service.transaction(async (tx) => tx.send(statement))),
    ]);
  const same = (outcome: string): string[] => [outcome, outcome, outcome];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'schema-'));
    await write('1764000000001-first.sql', 'CREATE TABLE things (id int); CREATE FUNCTION double(int) RETURNS int LANGUAGE sql AS $$ SELECT $1 * 2 $$');
    await write('1764000000002-second.sql', 'ALTER TABLE things ADD COLUMN note text');
    test = await createEmptyDatabase();
    await migrate();
    logged = [];
    const logger = createLogger('test', 'info', { write: (line: string) => void logged.push(line) });
    service = await Database.connect(settings(test.serviceUrl), logger);
    expect(await service.schemaFault()).toBeUndefined();
    expect(await outcomes()).toEqual(same('done'));
  });
  afterEach(async () => {
    await service.close();
    await test.disconnect();
    await rm(folder, { recursive: true });
  });

  it.each<[string, string[], string, string[] | 'migrate']>([
    ['is dropped and created again', ['DROP DATABASE $name WITH (FORCE)', 'CREATE DATABASE $name'], pending, 'migrate'],
    ['loses its schema', ['DROP SCHEMA public CASCADE', 'CREATE SCHEMA public'], pending, 'migrate'],
    ['is restored from before a migration', ['ALTER TABLE things DROP COLUMN note', `DELETE FROM migrations WHERE name LIKE 'second%'`], pending, 'migrate'],
    ['loses a table', ['ALTER TABLE things RENAME TO gone'], 'missing: things.id, things.note, SELECT on things, INSERT on things, UPDATE on things and 1 more', ['ALTER TABLE gone RENAME TO things']],
    ['loses a column', ['ALTER TABLE things RENAME note TO gone'], 'missing: things.note', ['ALTER TABLE things RENAME gone TO note']],
    ['loses a function', ['ALTER FUNCTION double RENAME TO gone'], 'missing: double()', ['ALTER FUNCTION gone RENAME TO double']],
    ['is restored without the privileges', ['REVOKE ALL ON things FROM service_of_tests'], 'missing: SELECT on things, INSERT on things, UPDATE on things, DELETE on things', 'migrate'],
  ])('that %s is unavailable until it is repaired, and says why (slow)', async (_what, harm, fault, repair) => {
    await asOwner(harm);
    // The first statement after a forced end may find its connection closed.
    await outcomes();
    expect(await outcomes()).toEqual(same('unavailable'));
    expect(await service.schemaFault()).toBe(fault);
    await (repair === 'migrate' ? migrate() : asOwner(repair));
    expect(await service.schemaFault()).toBeUndefined();
    expect(await outcomes()).toEqual(same('done'));
    const texts = logged.map((line) => JSON.parse(line) as { msg: string; reason?: string }).filter(({ msg }) => msg.includes('schema'));
    expect(texts.map(({ msg, reason }) => reason ?? msg)).toEqual([fault, 'the schema of the database is complete again']);
  });

  it('is checked without a statement that fails', async () => {
    await asOwner([`DELETE FROM migrations WHERE name LIKE 'second%'`]);
    expect(await service.schemaFault()).toBe(pending);
  });

  it('keeps a defect a defect: a statement about what never existed', async () => {
    expect(await outcomes('SELECT * FROM nothing')).toEqual(same('defect: relation "nothing" does not exist'));
    expect(await service.schemaFault()).toBeUndefined();
  });

  it('may lose what a newer release has removed (slow)', async () => {
    await write('1764000000003-newer.sql', 'ALTER TABLE things DROP COLUMN note');
    await migrate();
    expect((await outcomes())[0]).toMatch('defect: column "note" does not exist');
    expect(await service.schemaFault()).toBeUndefined();
  });

  it('is checked on the connection that failed, so that a full pool does not delay it (slow)', async () => {
    await asOwner(['ALTER TABLE things RENAME TO gone']);
    const found = await Promise.all(Array.from({ length: 20 }, () => outcomes()));
    expect(new Set(found.flat())).toEqual(new Set(['unavailable']));
  });
});
