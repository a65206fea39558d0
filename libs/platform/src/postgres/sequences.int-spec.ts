import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createEmptyDatabase, type TestDatabase } from '@plant-shop/testing/postgres';
import { createLogger } from '../logging.js';
import { Database } from './database.js';
import { onlyRow } from './rows.js';
import { raiseSequence } from './sequences.js';

describe('raising a sequence', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  beforeAll(async () => {
    testDatabase = await createEmptyDatabase();
    const settings = { url: testDatabase.url, applicationName: 'test', poolSize: 8, migrations: new URL('file:///none/') };
    database = await Database.connect(settings, createLogger('test', 'fatal'));
    await database.query('CREATE SEQUENCE numbers');
    // In a service's schema these functions belong to the owner of its tables, so that the service may call them.
    await database.query(`
      CREATE FUNCTION hold_sequence(sequence regclass) RETURNS void LANGUAGE plpgsql AS $$
      BEGIN EXECUTE format('ALTER SEQUENCE %s INCREMENT BY 1', sequence); END $$`);
    await database.query(`
      CREATE FUNCTION restart_sequence(sequence regclass, next bigint) RETURNS void LANGUAGE plpgsql AS $$
      BEGIN EXECUTE format('ALTER SEQUENCE %s RESTART WITH %s', sequence, next); END $$`);
  });
  afterAll(async () => {
    await database.close();
    await testDatabase.disconnect();
  });

  const draw = async (): Promise<number> =>
    onlyRow(await database.query<{ n: number }>(`SELECT nextval('numbers') AS n`)).n;
  const raise = (known: number, margin = 0, dryRun = false) =>
    database.transaction((tx) => raiseSequence(tx, { sequence: 'numbers', known, margin }, { dryRun }));

  it('does nothing if the sequence is already above the known numbers', async () => {
    expect(await raise(0)).toBeUndefined();
    expect(await draw()).toBe(1);
    expect(await raise(1)).toBeUndefined();
    expect(await draw()).toBe(2);
  });

  it('makes it continue above the known numbers and the margin', async () => {
    expect(await raise(10, 100, true)).toEqual({ sequence: 'numbers', from: 3, to: 111 });
    expect(await draw()).toBe(3);
    expect(await raise(10, 100)).toEqual({ sequence: 'numbers', from: 4, to: 111 });
    expect(await draw()).toBe(111);
  });

  it('never makes concurrent sessions draw a number twice (slow)', async () => {
    const drawn: number[] = [];
    let stopped = false;
    const drawing = Array.from({ length: 4 }, async () => {
      while (!stopped) drawn.push(await draw());
    });
    for (let n = 0; n < 50; n++) await raise((await draw()) + 1);
    stopped = true;
    await Promise.all(drawing);
    expect(drawn.length).toBeGreaterThan(50);
    expect(new Set(drawn).size).toBe(drawn.length);
  });
});
