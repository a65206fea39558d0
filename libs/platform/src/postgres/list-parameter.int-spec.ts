import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createEmptyDatabase, type TestDatabase } from '@plant-shop/testing/postgres';
import fc from 'fast-check';
import { createLogger } from '../logging.js';
import { Database } from './database.js';
import { listParameter, RowsParameter } from './rows.js';

describe('a list among the parameters of a statement', () => {
  let test: TestDatabase;
  let database: Database;
  beforeAll(async () => {
    test = await createEmptyDatabase();
    const migrations = new URL('unused/', import.meta.url);
    database = await Database.connect({ url: test.url, applicationName: 'test', poolSize: 1, migrations }, createLogger('test', 'silent'));
  });
  afterAll(async () => {
    await database.close();
    await test.disconnect();
  });

  /** Returns the elements as Postgres has read them. */
  const sent = async (list: readonly unknown[], type: string): Promise<unknown[]> =>
    (await database.query<{ one: unknown }>(`SELECT one FROM unnest($1::${type}[]) WITH ORDINALITY AS t (one, n) ORDER BY n`, [list])).map(({ one }) => one);

  it('of texts arrives unchanged, whatever they contain (slow)', async () => {
    // Postgres' texts have no zero character, and UTF-8 no half of a pair.
    const text = fc.string({ unit: fc.constantFrom('"', '\\', '{', '}', ',', ' ', 'n', 'NULL', '\n', '\t', '\u0001', '\u007f', 'ü', '🌵', "'") });
    const lists = fc.array(fc.option(fc.oneof(text, fc.string({ unit: 'binary' }).map((one) => one.replaceAll('\0', '')))));
    await fc.assert(
      fc.asyncProperty(lists, async (list) => {
        expect(await sent(list, 'text')).toEqual(list);
      }),
    );
  });

  it('of JSON arrives unchanged', async () => {
    const bodies = fc.array(fc.json().map((one) => one.replaceAll('\\u0000', '')));
    await fc.assert(
      fc.asyncProperty(bodies, async (list) => {
        expect(await sent(list, 'text')).toEqual(list);
      }),
    );
  });

  it('of numbers and booleans arrives unchanged (slow)', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.option(fc.maxSafeInteger())), fc.array(fc.option(fc.boolean())), async (integers, booleans) => {
        expect(await sent(integers, 'bigint')).toEqual(integers);
        expect(await sent(booleans, 'boolean')).toEqual(booleans);
      }),
    );
  });

  it('of other values is left to the driver', async () => {
    const at = new Date('2026-11-23T10:00:00.123Z');
    expect(await sent([at, null], 'timestamptz')).toEqual([at, null]);
    expect(await sent([Buffer.from('a"\\')], 'bytea')).toEqual([Buffer.from('a"\\')]);
    expect(await sent([['a', 'b'], ['c', null]], 'text')).toEqual(['a', 'b', 'c', null]);
    expect(await sent([NaN, Infinity], 'double precision')).toEqual([NaN, Infinity]);
  });

  it.each([
    [[1, -2, null], '{1,-2,null}'],
    [['a', 'NULL', '', null, undefined], '{"a","NULL","",null,null}'],
    [['{"a":1}'], '{"{\\"a\\":1}"}'],
    [[], '{}'],
  ])('%j is sent as a literal', (list, literal) => {
    expect(listParameter(list)).toBe(literal);
  });

  it('of rows arrives as rows, in order, with numbers, bodies and columns without values', async () => {
    interface Row {
      readonly id: number;
      readonly note?: string;
      readonly owner?: string;
    }
    const parameter = new RowsParameter<Row>(
      ['id', 'bigint', ({ id }) => id],
      ['body', 'line', (row) => JSON.stringify(row)],
      ['note', 'text', ({ note }) => note],
      ['gone', 'uuid', () => undefined],
      ['owner', 'uuid', ({ owner }) => owner],
    );
    const arrived = (rows: readonly Row[]): Promise<object[]> =>
      database.query(`SELECT ${parameter.names}, n FROM ${parameter.numberedFrom(2)} WHERE $1`, [true, ...parameter.values(rows)]);
    const rows = [{ id: 7, note: 'a "b"\n\\ü' }, { id: 5 }, { id: 6, note: '\t' }];
    const owned = rows.map((row) => ({ ...row, owner: randomUUID() }));
    const someOwned = owned.map(({ owner, ...row }, n) => (n === 1 ? row : { ...row, owner }));
    for (const some of [rows, rows.slice(1, 2), [], owned, someOwned]) {
      expect(await arrived(some)).toEqual(some.map((row: Row, n) => ({ id: row.id, body: JSON.stringify(row), note: row.note ?? null, gone: null, owner: row.owner ?? null, n: n + 1 })));
    }
    const [, owner = ''] = randomUUID().split('-', 2);
    for (const wrong of [owner, 'g'.repeat(36), `${randomUUID().slice(0, 35)}-`]) await expect(arrived([{ id: 1, owner: randomUUID() }, { id: 2, owner: wrong }])).rejects.toThrow(/uuid/);
  });
});
