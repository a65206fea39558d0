import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createEmptyDatabase, type TestDatabase } from '@plant-shop/testing/postgres';
import { startProxy, type TestProxy } from '@plant-shop/testing/proxy';
import { until } from '@plant-shop/testing/until';
import pg from 'pg';
import { Column, Entity, In, PrimaryColumn, VersionColumn } from 'typeorm';
import { createLogger } from '../logging.js';
import { Database, type DatabaseSettings, type Transaction } from './database.js';

@Entity('shelves')
class Shelf {
  @PrimaryColumn('bigint')
  readonly id: number;

  @Column('text')
  readonly label: string;

  @Column('integer')
  readonly freePlaces: number;

  @VersionColumn()
  readonly version: number;
}

const schema = `
CREATE TABLE shelves (
  id          bigint PRIMARY KEY,
  label       text   NOT NULL CONSTRAINT label_taken UNIQUE,
  free_places int    NOT NULL CHECK (free_places >= 0),
  version     int    NOT NULL DEFAULT 1
);`;

const shelf = (id: number, freePlaces = 1): Pick<Shelf, 'id' | 'label' | 'freePlaces'> => ({ id, label: `shelf ${id}`, freePlaces });
const add = (tx: Transaction, id: number): Promise<unknown> => tx.repository(Shelf).insert(shelf(id));
const failureOf = (work: Promise<unknown>): Promise<Error> =>
  work.then(
    () => new Error('it did not fail'),
    (error: unknown) => error as Error,
  );

describe('entities', () => {
  let test: TestDatabase;
  let proxy: TestProxy;
  /** A separate connection without time limits. */
  let admin: pg.Client;
  let database: Database;
  const open: Database[] = [];

  beforeAll(async () => {
    test = await createEmptyDatabase();
    admin = new pg.Client({ connectionString: test.url });
    await admin.connect();
    await admin.query(schema);
    const { hostname, port } = new URL(test.url);
    proxy = await startProxy({ host: hostname, port: Number(port || 5432) });
    database = await connect();
  });
  afterEach(() => proxy.restore());
  afterAll(async () => {
    for (const one of open) await one.close();
    await admin.end();
    await proxy.stop();
    await test.disconnect();
  });

  const connect = async (settings: Partial<DatabaseSettings> = {}): Promise<Database> => {
    const given = { url: test.url, applicationName: 'test', poolSize: 2, migrations: new URL('file:///none/'), entities: [Shelf] };
    const connected = await Database.connect({ ...given, ...settings }, createLogger('test', 'silent'));
    open.push(connected);
    return connected;
  };
  const ids = async (...some: number[]): Promise<number[]> =>
    (await database.repository(Shelf).find({ where: { id: In(some) }, order: { id: 'ASC' } })).map(({ id }) => id);

  it('map properties to columns, and their version counts changes', async () => {
    const shelves = database.repository(Shelf);
    await shelves.insert(shelf(1, 5));
    await shelves.update(1, { freePlaces: 4 });
    await expect(shelves.findOneByOrFail({ id: 1 })).resolves.toEqual({ id: 1, label: 'shelf 1', freePlaces: 4, version: 2 });
  });

  it('see the SQL writes of their transaction, and vice versa', async () => {
    const seen = await database.transaction(async (tx) => {
      tx.send('INSERT INTO shelves (id, label, free_places) VALUES ($1, $2, 1)', [11, 'by SQL']);
      const found = await tx.repository(Shelf).findOneByOrFail({ id: 11 });
      await add(tx, 12);
      const [row] = await tx.query<{ label: string }>('SELECT label FROM shelves WHERE id = 12');
      return [found.label, row?.label];
    });
    expect(seen).toEqual(['by SQL', 'shelf 12']);
  });

  it('are rolled back with their transaction', async () => {
    const failed = database.transaction(async (tx) => {
      await add(tx, 21);
      await tx.execute('UPDATE shelves SET free_places = 3 WHERE id = 21');
      throw new Error('failed');
    });
    await expect(failed).rejects.toThrow('failed');
    expect(await ids(21)).toEqual([]);
  });

  it("roll their transaction back when they fail, with the driver's error, which holds no values", async () => {
    await database.repository(Shelf).insert(shelf(31));
    const error = await failureOf(
      database.transaction(async (tx) => {
        await tx.execute('INSERT INTO shelves (id, label, free_places) VALUES (32, $1, 1)', ['by SQL']);
        await tx.repository(Shelf).insert({ ...shelf(33), label: 'shelf 31' });
      }),
    );
    expect(error).toMatchObject({ code: '23505', constraint: 'label_taken' });
    expect(error).not.toHaveProperty('parameters');
    expect(error).not.toHaveProperty('query');
    expect(await ids(31, 32, 33)).toEqual([31]);
  });

  it('roll the transaction back even if their error is caught', async () => {
    const caught = database.transaction(async (tx) => {
      await add(tx, 41);
      await add(tx, 41).catch(() => undefined);
    });
    await expect(caught).rejects.toThrow('Postgres rolled the transaction back');
    expect(await ids(41)).toEqual([]);
  });

  it('lock rows until the transaction ends', async () => {
    await database.repository(Shelf).insert(shelf(51));
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    let isLocked = false;
    const holder = database.transaction(async (tx) => {
      await tx.repository(Shelf).findOne({ where: { id: 51 }, lock: { mode: 'for_no_key_update' } });
      isLocked = true;
      await held;
    });
    await until(() => isLocked);
    const second = database.query('SELECT 1 FROM shelves WHERE id = 51 FOR NO KEY UPDATE NOWAIT');
    expect(await failureOf(second)).toMatchObject({ code: 'unavailable' });
    release();
    await holder;
  });

  it('are saved in the current transaction, and never in one that TypeORM begins', async () => {
    await database.transaction(async (tx) => {
      await tx.repository(Shelf).save(shelf(61));
      expect(await tx.repository(Shelf).save({ id: 61, freePlaces: 7 })).toMatchObject({ version: 2 });
    });
    expect(await ids(61)).toEqual([61]);
    await expect(database.repository(Shelf).save(shelf(62))).rejects.toThrow('Only Database.transaction');
    expect(await ids(62)).toEqual([]);
  });

  it('are repeated after a deadlock, together with the SQL of their transaction (slow)', async () => {
    await database.repository(Shelf).insert([shelf(71), shelf(72)]);
    let arrived = 0;
    const bump = (first: number, second: number): Promise<void> =>
      database.transaction(async (tx) => {
        await tx.repository(Shelf).increment({ id: first }, 'freePlaces', 1);
        arrived++;
        await until(() => arrived >= 2);
        await tx.execute('UPDATE shelves SET free_places = free_places + 1 WHERE id = $1', [second]);
      });
    await Promise.all([bump(71, 72), bump(72, 71)]);
    expect(arrived).toBeGreaterThan(2);
    const places = (await database.repository(Shelf).findBy({ id: In([71, 72]) })).map(({ freePlaces }) => freePlaces);
    expect(places).toEqual([3, 3]);
  });

  it('are unavailable without a database, and outcome-unknown when the connection is lost during a change', async () => {
    const url = new URL(test.url);
    url.hostname = '127.0.0.1';
    url.port = String(proxy.port);
    const proxied = await connect({ url: url.href });
    await admin.query('BEGIN; LOCK TABLE shelves IN ACCESS EXCLUSIVE MODE');
    const read = failureOf(proxied.repository(Shelf).findOneBy({ id: 1 }));
    const write = failureOf(proxied.repository(Shelf).insert(shelf(81)));
    await until(async () => (await waiting()) === 2);
    await proxy.cut();
    expect(await read).toMatchObject({ code: 'unavailable' });
    expect(await write).toMatchObject({ code: 'outcome-unknown' });
    await admin.query('ROLLBACK');
    expect(await failureOf(proxied.transaction((tx) => add(tx, 82)))).toMatchObject({ code: 'unavailable' });
  });

  const waiting = async (): Promise<number> =>
    (await database.query(`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)).length;

  it('must be listed when the database is opened', async () => {
    const without = await connect({ entities: [] });
    expect(() => without.repository(Shelf)).toThrow('without entities');
    await expect(without.transaction((tx) => add(tx, 91))).rejects.toThrow('without entities');
  });
});
