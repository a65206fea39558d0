import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import { createEmptyDatabase, type TestDatabase } from '@plant-shop/testing/postgres';
import { startProxy, type TestProxy } from '@plant-shop/testing/proxy';
import { until } from '@plant-shop/testing/until';
import pg from 'pg';
import { createLogger } from '../logging.js';
import { Database } from './database.js';

/** The documented maximum from the start of a stall to the first answer on another connection. */
const maxRecoveryMs = 5_000;

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (error as { code?: string }).code ?? String(error),
  );

describe('a half-open connection to the database', () => {
  const poolSize = 3;
  let test: TestDatabase;
  let proxy: TestProxy;
  let admin: pg.Client;
  let database: Database;
  let log: string[];

  beforeAll(async () => {
    test = await createEmptyDatabase();
    admin = new pg.Client({ connectionString: test.url });
    await admin.connect();
    await admin.query('CREATE TABLE boxes (id bigint PRIMARY KEY, units int NOT NULL)');
  });
  beforeEach(async () => {
    log = [];
    const url = new URL(test.url);
    proxy = await startProxy({ host: url.hostname, port: Number(url.port || 5432) });
    url.hostname = '127.0.0.1';
    url.port = String(proxy.port);
    const settings = { url: url.href, applicationName: 'stalls', poolSize, migrations: new URL('file:///none/') };
    database = await Database.connect(settings, createLogger('test', 'warn', { write: (line: string) => void log.push(line) }));
    await admin.query('TRUNCATE boxes');
    await admin.query('INSERT INTO boxes SELECT id, 1 FROM generate_series(1, 10) AS id');
  });
  afterEach(async () => {
    await proxy.stop();
    await database.close();
  });
  afterAll(async () => {
    await admin.end();
    await test.disconnect();
  });

  const change = (id: number): Promise<string> =>
    codeOf(database.transaction(async (tx) => tx.execute('UPDATE boxes SET units = units + 1 WHERE id = $1', [id])));
  const unitsOf = async (id: number): Promise<number> =>
    (await admin.query<{ units: number }>('SELECT units FROM boxes WHERE id = $1', [id])).rows[0]?.units ?? 0;
  /** Opens all connections of the pool. They are idle afterwards. */
  const fillPool = async (): Promise<void> => {
    await Promise.all(Array.from({ length: poolSize }, () => database.query('SELECT pg_sleep(0.05)')));
    expect(database.poolUse).toMatchObject({ idle: poolSize, busy: 0 });
  };
  const msOf = async (work: () => Promise<void>): Promise<number> => {
    const startedAt = performance.now();
    await work();
    return performance.now() - startedAt;
  };

  it('is dropped in time: its callers get unavailable, and all others are served', async () => {
    await fillPool();
    proxy.stall();
    const outcomes: string[] = [];
    const tookMs = await msOf(async () => {
      outcomes.push(...(await Promise.all([1, 2, 3].map(change))));
      outcomes.push(await change(4));
    });
    expect(outcomes).toEqual(['unavailable', 'unavailable', 'unavailable', 'done']);
    expect(tookMs).toBeLessThan(maxRecoveryMs);
    expect([await unitsOf(1), await unitsOf(4)]).toEqual([1, 2]);
    expect(database.poolUse).toMatchObject({ stalled: 3, waiting: 0 });
    expect(log.join('')).toContain('database connections stalled and were dropped');
  });

  it('makes idle connections suspect: they are replaced before their next use', async () => {
    await fillPool();
    proxy.stall();
    expect(await change(1)).toBe('unavailable');
    const tookMs = await msOf(async () => expect(await Promise.all([2, 3, 4].map(change))).toEqual(['done', 'done', 'done']));
    expect(tookMs).toBeLessThan(1_000);
    expect(database.poolUse.stalled).toBe(1);
  });

  it('is dropped as soon as new connections work, if those stall for a while as well', async () => {
    await fillPool();
    proxy.stallAll();
    const outcomes = [1, 2, 3].map(change);
    const blackout = pause(2_500).then(() => proxy.admit());
    await blackout;
    const tookMs = await msOf(async () => {
      expect(await Promise.all(outcomes)).toEqual(['unavailable', 'unavailable', 'unavailable']);
      await until(async () => (await change(4)) === 'done');
    });
    expect(tookMs).toBeLessThan(maxRecoveryMs);
  });

  it('makes the outcome of its COMMIT unknown, even if it took effect', async () => {
    const outcome = codeOf(
      database.transaction(async (tx) => {
        await tx.execute('UPDATE boxes SET units = 7 WHERE id = 1');
        proxy.deafen();
      }),
    );
    await until(async () => (await unitsOf(1)) === 7);
    const tookMs = await msOf(async () => expect(await outcome).toBe('outcome-unknown'));
    expect(tookMs).toBeLessThan(maxRecoveryMs);
  });

  it('releases its row locks in time, and its COMMIT cannot arrive later', async () => {
    let isStalled = false;
    const outcome = codeOf(
      database.transaction(async (tx) => {
        // The server's own limit would end the session after five seconds.
        await tx.execute('SET LOCAL idle_in_transaction_session_timeout = 0');
        await tx.execute('UPDATE boxes SET units = 7 WHERE id = 1');
        proxy.stall();
        isStalled = true;
      }),
    );
    await until(() => isStalled);
    const tookMs = await msOf(async () => {
      await admin.query('UPDATE boxes SET units = units + 1 WHERE id = 1');
    });
    expect(tookMs).toBeLessThan(4_000);
    expect(database.poolUse.stalled).toBe(1);
    expect(await outcome).toBe('outcome-unknown');
    proxy.resume();
    await until(async () => (await change(2)) === 'done');
    expect(await unitsOf(1)).toBe(2);
  });

  it('is distinguished from a connection whose statement waits for a lock', async () => {
    await fillPool();
    await admin.query('BEGIN');
    await admin.query('UPDATE boxes SET units = 5 WHERE id = 1');
    const waiting = change(1);
    await pause(2_500);
    await admin.query('COMMIT');
    expect(await waiting).toBe('done');
    expect(database.poolUse.stalled).toBe(0);
    expect(await unitsOf(1)).toBe(6);
  });

  it('is distinguished from a connection that takes seconds to send a large statement', async () => {
    await admin.query('CREATE TABLE IF NOT EXISTS pictures (bytes bytea NOT NULL)');
    proxy.slowDown(3_000_000);
    await proxy.cut();
    await until(() => database.poolUse.idle === 0);
    await proxy.restore();
    const bytes = Buffer.alloc(16_000_000, 1);
    expect(await codeOf(database.transaction(async (tx) => tx.execute('INSERT INTO pictures VALUES ($1)', [bytes])))).toBe('done');
    expect(log.join('')).not.toContain('database connections stalled');
  });

  it('is distinguished from a connection whose answer waits while the process is blocked', async () => {
    await fillPool();
    const answer = codeOf(database.query('SELECT pg_sleep(0.3)'));
    // Lets the first samples happen, so that the silence seems to exceed its limit when the process continues.
    await pause(280);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_500);
    expect(await answer).toBe('done');
    await pause(2_000);
    expect(database.poolUse.stalled).toBe(0);
  });

  it('does not block the server when its host vanished: the session has its own limits', async () => {
    const settings = await database.query<{ name: string; setting: string }>(
      `SELECT name, setting FROM pg_settings
       WHERE name IN ('tcp_keepalives_idle', 'tcp_keepalives_interval', 'tcp_keepalives_count', 'tcp_user_timeout', 'client_connection_check_interval')`,
    );
    expect(Object.fromEntries(settings.map(({ name, setting }) => [name, Number(setting)]))).toEqual({
      tcp_keepalives_idle: 2,
      tcp_keepalives_interval: 1,
      tcp_keepalives_count: 3,
      tcp_user_timeout: 5_000,
      client_connection_check_interval: 2_000,
    });
  });
});
