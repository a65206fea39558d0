import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createEmptyDatabase, type TestDatabase } from '@plant-shop/testing/postgres';
import { until } from '@plant-shop/testing/until';
import { CodedError, unavailable } from '../../errors.js';
import type { Database } from '../../postgres/database.js';
import { Closings, closings as table, connect, points, schema } from './saga.spec.fixture.js';

const processFile = fileURLToPath(new URL('../../../dist/patterns/saga/saga-process.spec.fixture.js', import.meta.url));

describe('a saga', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  let closings: Closings;
  let job = 0;
  beforeAll(async () => {
    testDatabase = await createEmptyDatabase();
    database = await connect(testDatabase.url, 8);
    await database.query(schema);
  });
  afterAll(async () => {
    await database.close();
    await testDatabase.disconnect();
  });
  beforeEach(() => {
    closings = new Closings(database);
  });
  const replicas: Closings[] = [];
  afterEach(async () => {
    await Promise.all(replicas.splice(0).map((replica) => replica.stop()));
  });

  async function newJob({ busy = false } = {}): Promise<number> {
    await database.query('WITH job AS (INSERT INTO jobs VALUES ($1)) INSERT INTO others (id, busy) VALUES ($1, $2)', [++job, busy]);
    return job;
  }
  const count = async (table: string, id: number): Promise<number> => (await database.query(`SELECT 1 FROM ${table} WHERE id = $1`, [id])).length;
  const expireLeases = () => database.query(`UPDATE closings SET leased_until = now() - interval '1 second'`);
  const outcomeOf = (answer: Promise<unknown>): Promise<unknown> =>
    answer.catch((error: unknown) => (error instanceof CodedError ? error.code : Promise.reject(error as Error)));

  /** Starts two replicas' background loops, lets all leases expire, and waits until no intent is left. */
  async function settle(): Promise<void> {
    replicas.push(new Closings(database), new Closings(database));
    for (const replica of replicas) replica.start();
    await expireLeases();
    await until(async () => (await database.query('SELECT 1 FROM closings')).length === 0);
  }

  /** Closes a job in a process that is killed at a point. */
  async function closeAndDie(id: number, point: string): Promise<void> {
    const victim = spawn(process.execPath, [processFile, testDatabase.url, String(id), point], { stdio: 'inherit' });
    expect(await once(victim, 'exit')).toEqual([null, 'SIGKILL']);
  }

  describe.each(points)('whose process is killed %s', (point) => {
    it('is completed once (slow)', async () => {
      const id = await newJob();
      await closeAndDie(id, point);
      await settle();
      expect([await count('jobs', id), await count('completed', id)]).toEqual([0, 1]);
      expect(await database.query('SELECT closed FROM others WHERE id = $1', [id])).toEqual([{ closed: true }]);
    });

    it('is withdrawn if the other service refuses, and can begin again (slow)', async () => {
      const id = await newJob({ busy: true });
      await closeAndDie(id, point);
      await settle();
      expect([await count('jobs', id), await count('completed', id)]).toEqual([1, 0]);
      await database.query('UPDATE others SET busy = false WHERE id = $1', [id]);
      expect(await closings.request(id)).toEqual({ completed: true });
    });
  });

  it('has no effect while the other service is unavailable, and none later', async () => {
    const id = await newJob();
    closings.call = () => Promise.reject(unavailable('other'));
    expect(await outcomeOf(closings.request(id))).toBe('unavailable');
    await settle();
    expect([await count('jobs', id), await count('closings', id)]).toEqual([1, 0]);
  });

  it('continues while the other service is unavailable if an earlier attempt may have had an effect (slow)', async () => {
    const id = await newJob();
    await closeAndDie(id, 'after the commit');
    const attempts: number[] = [];
    closings.call = (_, attempt) => Promise.reject(unavailable(`${attempts.push(attempt)}`));
    expect(await outcomeOf(closings.request(id))).toBe('outcome-unknown');
    expect(attempts).toEqual([...new Set(attempts)].sort((a, b) => a - b));
    expect(attempts).toHaveLength(3);
    await settle();
    expect(await count('completed', id)).toBe(1);
  });

  it('that loses an answer releases its lease, so that a loop continues at once', async () => {
    const id = await newJob();
    closings.call = async (key, attempt) => {
      await closings.close(key, attempt);
      throw new CodedError('outcome-unknown', 'lost');
    };
    expect(await outcomeOf(closings.request(id))).toBe('outcome-unknown');
    const next = new Closings(database);
    expect(await next.resumeDue()).toBe(false);
    expect(await count('completed', id)).toBe(1);
  });

  it('is not withdrawn by an attempt that was overtaken', async () => {
    const id = await newJob({ busy: true });
    closings.call = async (key, attempt) => {
      const refusal = await closings.close(key, attempt);
      await database.query(`UPDATE closings SET attempt = nextval('closing_attempts') WHERE id = $1`, [id]);
      return refusal;
    };
    expect(await closings.request(id)).toEqual({ completed: false, refusal: true });
    expect(await count('closings', id)).toBe(1);
    await settle();
  });

  it('answers a request that another attempt has overtaken with the answer to a new attempt', async () => {
    const id = await newJob({ busy: true });
    let isFirst = true;
    closings.call = async (key, attempt) => {
      if (isFirst) {
        isFirst = false;
        expect(await new Closings(database).request(id)).toEqual({ completed: false, refusal: true });
      }
      return closings.close(key, attempt);
    };
    expect(await closings.request(id)).toEqual({ completed: false, refusal: true });
    expect(await count('closings', id)).toBe(0);
  });

  it('without an attempt joins the intent of its resource: it never shortens the lease, and leaves that of an attempt as it is', async () => {
    const [known, fresh] = [await newJob(), await newJob()];
    const record = table.recorderOf({ id: 'bigint', tries: 'integer' });
    const lease = (ids: readonly number[], tries: number, ms: number) =>
      database.transaction(async (tx) => record(tx, ids.map((id) => ({ id, tries })), ms));
    const rows = () =>
      database.query(
        `SELECT id, attempt, tries, round(extract(epoch FROM leased_until - now()))::integer AS seconds
         FROM closings WHERE id = ANY($1) ORDER BY id`,
        [[known, fresh]],
      );
    await database.transaction((tx) => table.begin(tx, known, { requestId: 'test', credentials: [] }, 10_000));
    const [{ attempt } = { attempt: 0 }] = await rows();
    await lease([fresh, known], 1, 30_000);
    expect(await rows()).toEqual([
      { id: known, attempt, tries: 1, seconds: 10 },
      { id: fresh, attempt: null, tries: 1, seconds: 30 },
    ]);
    await lease([fresh], 2, 40_000);
    await lease([fresh], 3, 20_000);
    await lease([], 4, 50_000);
    expect((await rows())[1]).toEqual({ id: fresh, attempt: null, tries: 3, seconds: 40 });
    await database.query('DELETE FROM closings');
  });

  it('is resumed at once if its lease ends later than any can: the database’s clock was set back', async () => {
    const [stale, running] = [await newJob(), await newJob()];
    for (const id of [stale, running]) await database.transaction((tx) => table.begin(tx, id, { requestId: 'test', credentials: [] }, 30_000));
    await database.query(`UPDATE closings SET leased_until = leased_until + interval '10 minutes' WHERE id = $1`, [stale]);
    expect((await table.leaseDue(database, 50)).map(({ key }) => key)).toEqual([stale]);
    await database.query('DELETE FROM closings');
  });

  it('is resumed by one replica at a time, after ever longer pauses of 5 to 30 seconds (slow)', async () => {
    const ids = [await newJob(), await newJob()];
    for (const id of ids) await closeAndDie(id, 'after the commit');
    const leases: number[] = [];
    for (let tries = 1; tries <= 8; tries++) {
      await expireLeases();
      const taken = await Promise.all([table.leaseDue(database, 50), table.leaseDue(database, 50)]);
      expect(taken.flat().map(({ key }) => key).sort()).toEqual(ids);
      const [row] = await database.query<{ seconds: number }>(
        `SELECT max(round(extract(epoch FROM leased_until - now())))::integer AS seconds FROM closings`,
      );
      leases.push(row?.seconds ?? 0);
    }
    expect(leases).toEqual([5, 10, 15, 20, 25, 30, 30, 30]);
    await settle();
  });
});
