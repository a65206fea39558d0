import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createEmptyDatabase, type TestDatabase } from '@plant-shop/testing/postgres';
import { startProxy, type TestProxy } from '@plant-shop/testing/proxy';
import { until } from '@plant-shop/testing/until';
import pg from 'pg';
import { createLogger } from '../logging.js';
import { Database, type DatabaseSettings, type Reader } from './database.js';

const schema = `
CREATE TABLE boxes (id bigint PRIMARY KEY, units int NOT NULL CHECK (units >= 0));
-- Inserting a box with 99 units makes COMMIT slow, when the deferred constraint is checked.
CREATE FUNCTION be_slow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_sleep(CASE WHEN NEW.units = 99 THEN 30 ELSE 0 END);
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER slow_commit AFTER INSERT ON boxes DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION be_slow();
`;

interface Box {
  id: number;
  units: number;
}
const insert = (tx: Reader, id: number, units = 1): Promise<unknown> =>
  tx.query('INSERT INTO boxes (id, units) VALUES ($1, $2)', [id, units]);
const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (error as { code?: string }).code ?? String(error),
  );

/** Returns the code of a transaction that starts when the pool's only connection is in use, then closes the database. */
async function codeOfExhausted(full: Database): Promise<string> {
  try {
    return await full.transaction(() => codeOf(full.transaction((tx) => insert(tx, 51))));
  } finally {
    await full.close();
  }
}

describe('a database', () => {
  let test: TestDatabase;
  let proxy: TestProxy;
  let admin: pg.Client;
  const open: Database[] = [];
  /** Runs into the pool's timeout of 3 s, concurrently with the other tests. */
  let codeOfExhaustedPool: Promise<string>;

  beforeAll(async () => {
    test = await createEmptyDatabase();
    admin = new pg.Client({ connectionString: test.url });
    await admin.connect();
    await admin.query(schema);
    const { hostname, port } = new URL(test.url);
    proxy = await startProxy({ host: hostname, port: Number(port || 5432) });
    const full = await Database.connect(given({ poolSize: 1 }), createLogger('test', 'silent'));
    codeOfExhaustedPool = codeOfExhausted(full);
  });
  afterEach(async () => {
    await proxy.restore();
    for (const database of open.splice(0)) await database.close();
  });
  afterAll(async () => {
    await codeOfExhaustedPool;
    await proxy.stop();
    await admin.end();
    await test.disconnect();
  });

  const given = (settings: Partial<DatabaseSettings>): DatabaseSettings => ({
    url: test.url,
    applicationName: 'test',
    poolSize: 2,
    migrations: new URL('file:///none/'),
    ...settings,
  });
  const connect = async (settings: Partial<DatabaseSettings> = {}): Promise<Database> => {
    const database = await Database.connect(given(settings), createLogger('test', 'silent'));
    open.push(database);
    return database;
  };
  const throughProxy = (): { url: string } => {
    const url = new URL(test.url);
    url.hostname = '127.0.0.1';
    url.port = String(proxy.port);
    return { url: url.href };
  };
  const boxes = async (...ids: number[]): Promise<number> =>
    (await admin.query('SELECT 1 FROM boxes WHERE id = ANY($1)', [ids])).rowCount ?? 0;
  const backends = async (query: string): Promise<number[]> =>
    (
      await admin.query<{ pid: number }>(
        `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'test' AND state = 'active'
           AND query LIKE $1`,
        [query],
      )
    ).rows.map((row) => row.pid);
  const kill = async (query: string): Promise<void> => {
    let pids: number[] = [];
    await until(async () => (pids = await backends(query)).length > 0);
    await admin.query('SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid', [pids]);
  };

  describe('transaction', () => {
    it('is atomic', async () => {
      const database = await connect();
      const answer = await database.transaction(async (tx) => {
        await insert(tx, 1, 5);
        tx.send('INSERT INTO boxes (id, units) VALUES ($1, $2)', [2, 6]);
        const changed = await tx.execute({ name: 'add', text: 'UPDATE boxes SET units = units + $1 WHERE id <= 2' }, [10]);
        return { changed, units: (await tx.query<Box>('SELECT units FROM boxes WHERE id <= 2 ORDER BY id')).map((box) => box.units) };
      });
      expect(answer).toEqual({ changed: 2, units: [15, 16] });
      expect(await boxes(1, 2)).toBe(2);
    });

    it('uses generic plans with the option, and restores the settings of its connection at its end', async () => {
      const database = await connect({ poolSize: 1 });
      const settings = (tx: Reader): Promise<object[]> =>
        tx.query(`SELECT current_setting('plan_cache_mode') AS plans, current_setting('enable_seqscan') AS scans`);
      expect(await database.transaction(settings, { useGenericPlans: true })).toEqual([{ plans: 'force_generic_plan', scans: 'off' }]);
      expect(await database.transaction(settings)).toEqual([{ plans: 'auto', scans: 'on' }]);
      const failing = database.transaction((tx) => insert(tx, 40, -1), { useGenericPlans: true });
      await expect(failing).rejects.toMatchObject({ code: '23514' });
      expect(await settings(database)).toEqual([{ plans: 'auto', scans: 'on' }]);
      expect(await boxes(40)).toBe(0);
    });

    it('is rolled back when the work fails, and returns its connection to the pool', async () => {
      const database = await connect({ poolSize: 1 });
      for (let n = 0; n < 3; n++) {
        const failing = database.transaction(async (tx) => {
          await insert(tx, 3);
          throw new Error('no');
        });
        await expect(failing).rejects.toThrow('no');
      }
      expect(await boxes(3)).toBe(0);
      await expect(database.query('SELECT 1 AS one')).resolves.toEqual([{ one: 1 }]);
    });

    it('throws the SQLSTATE and the constraint of a data error', async () => {
      const database = await connect();
      await expect(database.transaction((tx) => insert(tx, 4, -1))).rejects.toMatchObject({ code: '23514', constraint: 'boxes_units_check' });
    });

    it('fails when a failed statement rolled it back, even if the error was caught', async () => {
      const database = await connect();
      const work = database.transaction(async (tx) => {
        await insert(tx, 5);
        await insert(tx, 6, -1).catch(() => undefined);
        return 'seems fine';
      });
      await expect(work).rejects.toThrow('Postgres rolled the transaction back');
      expect(await boxes(5, 6)).toBe(0);
    });

    it('fails with the error of a statement that was sent without waiting, also if more was sent after it', async () => {
      const database = await connect({ poolSize: 1 });
      const broken = { name: 'add-box', text: 'INSERT INTO boxes (id, units) VALUES ($1, $2)' };
      const last = database.transaction(async (tx) => {
        await insert(tx, 7);
        tx.send(broken, [8, -1]);
      });
      await expect(last).rejects.toMatchObject({ code: '23514' });
      const before = database.transaction(async (tx) => {
        tx.send(broken, [8, -1]);
        await Promise.all([insert(tx, 7), tx.query('SELECT 1')]);
      });
      await expect(before).rejects.toMatchObject({ code: '23514' });
      expect(await boxes(7, 8)).toBe(0);
      // The connection and its prepared statements can still be used.
      await database.transaction(async (tx) => tx.send(broken, [8, 1]));
      expect(await boxes(8)).toBe(1);
    });

    it('fails with the error of a query, also if statements were sent behind it', async () => {
      const database = await connect();
      for (let n = 0; n < 20; n++) {
        const work = database.transaction(async (tx) => {
          const failing = tx.query('SELECT 1 / $1::integer', [0]);
          tx.send('SELECT 1');
          await Promise.all([failing, tx.query('SELECT 2')]);
        });
        await expect(work).rejects.toMatchObject({ code: '22012' });
      }
    });

    it('is run again after a deadlock of a query, also if its work waits for a later query first', async () => {
      const database = await connect();
      let runs = 0;
      await database.transaction(async (tx) => {
        const first = ++runs === 1 ? tx.query(`DO $$ BEGIN RAISE deadlock_detected; END $$`) : tx.query('SELECT 1');
        const outcome = first.catch((error: unknown) => error);
        await tx.query('SELECT 2');
        await outcome;
      });
      expect(runs).toBe(2);
    });

    it('returns the rows of a deferred query after the commit, and not before', async () => {
      const database = await connect();
      const text = 'INSERT INTO boxes (id, units) VALUES ($1, $2) RETURNING id';
      const inserted = await database.transaction(async (tx) => {
        const rows = tx.later<{ id: number }>(text, [9, 1]);
        expect(rows).toThrow('after the commit');
        return { rows };
      });
      expect(inserted.rows()).toEqual([{ id: 9 }]);
      const failing = database.transaction(async (tx) => ({ rows: tx.later(text, [10, -1]) }));
      await expect(failing).rejects.toMatchObject({ code: '23514' });
    });

    it('executes statements in the order of the calls', async () => {
      const database = await connect();
      const seen = await database.transaction((tx) => {
        tx.send('INSERT INTO boxes (id, units) VALUES (12, 1)');
        const first = tx.query<Box>('SELECT units FROM boxes WHERE id = 12');
        tx.send('UPDATE boxes SET units = 2 WHERE id = 12');
        return Promise.all([first, tx.query<Box>('SELECT units FROM boxes WHERE id = 12')]);
      });
      expect(seen).toEqual([[{ units: 1 }], [{ units: 2 }]]);
    });

    it('is run again after a deadlock (slow)', async () => {
      const database = await connect();
      await database.transaction(async (tx) => {
        await insert(tx, 10);
        await insert(tx, 11);
      });
      let runs = 0;
      let arrived = 0;
      const both = async (first: number, second: number): Promise<void> =>
        database.transaction(async (tx) => {
          runs++;
          await tx.execute('UPDATE boxes SET units = units + 1 WHERE id = $1', [first]);
          arrived++;
          // Only the first attempts wait for each other.
          await until(() => arrived >= 2);
          await tx.execute('UPDATE boxes SET units = units + 1 WHERE id = $1', [second]);
        });
      await Promise.all([both(10, 11), both(11, 10)]);
      // The one that was rolled back may be rolled back again, if it is quicker than the other one.
      expect(runs).toBeGreaterThanOrEqual(3);
      await expect(database.query('SELECT units FROM boxes WHERE id IN (10, 11)')).resolves.toEqual([{ units: 3 }, { units: 3 }]);
    });

    it('is run again after a deadlock of a statement that was sent without waiting', async () => {
      const database = await connect();
      let runs = 0;
      await database.transaction(async (tx) => {
        if (++runs === 1) tx.send(`DO $$ BEGIN RAISE deadlock_detected; END $$`);
        await tx.query('SELECT 1');
      });
      expect(runs).toBe(2);
    });

    it('is unavailable after five deadlocks', async () => {
      const database = await connect();
      let runs = 0;
      const work = database.transaction(async (tx) => {
        runs++;
        await tx.query(`DO $$ BEGIN RAISE deadlock_detected; END $$`);
      });
      expect(await codeOf(work)).toBe('unavailable');
      expect(runs).toBe(5);
    });

    it('is outcome-unknown when its connection is lost during COMMIT, and the pool replaces the connection', async () => {
      const database = await connect({ poolSize: 1 });
      const outcome = codeOf(database.transaction((tx) => insert(tx, 20, 99)));
      await kill('COMMIT');
      expect(await outcome).toBe('outcome-unknown');
      for (let n = 0; n < 3; n++) expect(await codeOf(database.transaction((tx) => insert(tx, 21 + n)))).toBe('done');
    });

    it('is outcome-unknown when the answer to its COMMIT is lost, and it may have taken effect', async () => {
      const database = await connect({ ...throughProxy(), poolSize: 1 });
      const lost = codeOf(
        database.transaction(async (tx) => {
          await insert(tx, 31);
          proxy.deafen();
        }),
      );
      await until(async () => (await boxes(31)) === 1);
      await proxy.cut();
      expect(await lost).toBe('outcome-unknown');
    });

    it('is unavailable and rolled back when its connection is lost before COMMIT', async () => {
      const database = await connect({ poolSize: 1 });
      const outcome = codeOf(
        database.transaction(async (tx) => {
          await insert(tx, 40);
          await tx.query('SELECT pg_sleep(30)');
        }),
      );
      await kill('SELECT pg_sleep(30)');
      expect(await outcome).toBe('unavailable');
      expect(await boxes(40)).toBe(0);
      expect(await codeOf(database.check())).toBe('done');
    });

    it('is unavailable when the server ends it for idling, even if the work then returns', async () => {
      const database = await connect({ poolSize: 1 });
      const outcome = codeOf(
        database.transaction(async (tx) => {
          await insert(tx, 41);
          await tx.query(`SET LOCAL idle_in_transaction_session_timeout = '50ms'`);
          const [session] = await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
          await until(async () => (await admin.query('SELECT 1 FROM pg_stat_activity WHERE pid = $1', [session!.pid])).rowCount === 0);
          // The driver learns of the end a moment after the server.
          await until(async () => (await codeOf(tx.query('SELECT 1'))) !== 'done');
        }),
      );
      expect(await outcome).toBe('unavailable');
      expect(await boxes(41)).toBe(0);
      expect(await codeOf(database.check())).toBe('done');
    });

    it('is unavailable and rolled back after a lock timeout or statement timeout', async () => {
      const database = await connect();
      await database.transaction((tx) => insert(tx, 50));
      await database.transaction(async (holder) => {
        await holder.execute('UPDATE boxes SET units = 2 WHERE id = 50');
        const waiting = database.transaction(async (tx) => {
          await tx.query(`SET LOCAL lock_timeout = '50ms'`);
          await tx.execute('UPDATE boxes SET units = 3 WHERE id = 50');
        });
        expect(await codeOf(waiting)).toBe('unavailable');
      });
      const slow = database.transaction(async (tx) => {
        await tx.query(`SET LOCAL statement_timeout = '50ms'`);
        await tx.query('SELECT pg_sleep(30)');
      });
      expect(await codeOf(slow)).toBe('unavailable');
    });

    // As when its clock is set forward: then all limits seem to be exceeded.
    it.each(['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'])('is run again when Postgres ends it before its %s', async (limit) => {
      const database = await connect();
      await database.transaction((tx) => insert(tx, 55));
      let runs = 0;
      await database.transaction(async (holder) => {
        await holder.execute('UPDATE boxes SET units = 2 WHERE id = 55');
        await database.transaction(async (tx) => {
          if (++runs > 1) return insert(tx, 56);
          await tx.query(`SET LOCAL ${limit} = '50ms'`);
          if (limit === 'statement_timeout') await tx.query('SELECT pg_sleep(30)');
          if (limit === 'lock_timeout') await tx.execute('UPDATE boxes SET units = 3 WHERE id = 55');
          return until(async () => (await codeOf(tx.query('SELECT 1'))) !== 'done', 5_000, 200);
        });
      });
      expect([runs, await boxes(56)]).toEqual([2, 1]);
      await admin.query('DELETE FROM boxes WHERE id IN (55, 56)');
    });

    it('is unavailable, without another run, when it exceeds its own limit', async () => {
      const database = await connect();
      let runs = 0;
      const slow = database.transaction((tx) => {
        runs++;
        return tx.query('SELECT pg_sleep(30)');
      }, { limitMs: 50 });
      expect([await codeOf(slow), runs]).toEqual(['unavailable', 1]);
    });

    it('is unavailable at once while the server is unreachable, and works again after its return', async () => {
      const database = await connect(throughProxy());
      await database.transaction((tx) => insert(tx, 60));
      await proxy.cut();
      // A few attempts remove the dead connections from the pool.
      for (let n = 0; n < 4; n++) expect(await codeOf(database.transaction((tx) => insert(tx, 61)))).toBe('unavailable');
      await proxy.restore();
      expect(await codeOf(database.transaction((tx) => insert(tx, 62)))).toBe('done');
      expect(await boxes(60, 61, 62)).toBe(2);
    });
  });

  describe('statement outside a transaction', () => {
    it('is outcome-unknown when its connection is lost and it may change rows, and unavailable if it only reads', async () => {
      const database = await connect({ poolSize: 2 });
      const writing = codeOf(
        database.query('WITH slept AS MATERIALIZED (SELECT pg_sleep(30)) INSERT INTO boxes SELECT 70, 1 FROM slept RETURNING id'),
      );
      const reading = codeOf(database.query('SELECT pg_sleep(31)'));
      await kill('%pg_sleep(30)%');
      await kill('SELECT pg_sleep(31)%');
      expect(await writing).toBe('outcome-unknown');
      expect(await reading).toBe('unavailable');
      expect(await codeOf(database.check())).toBe('done');
    });

    it('keeps its connection after a data error', async () => {
      const database = await connect({ poolSize: 1 });
      const pid = 'SELECT pg_backend_pid() AS pid';
      const before = await database.query(pid);
      expect(await codeOf(database.query('INSERT INTO boxes VALUES (71, -1)'))).toBe('23514');
      await expect(database.query(pid)).resolves.toEqual(before);
    });

    it('reads bigint as a number, without ever rounding', async () => {
      const database = await connect();
      const largest = Number.MAX_SAFE_INTEGER;
      await insert(database, largest);
      await expect(database.query('SELECT id FROM boxes WHERE id = $1', [largest])).resolves.toEqual([{ id: largest }]);
      await expect(database.query('SELECT 9007199254740993::bigint AS id')).rejects.toThrow('exceeds the safe integers');
      expect(await codeOf(database.check())).toBe('done');
    });
  });

  it('has JIT compilation off, which would take longer than our statements', async () => {
    const database = await connect();
    await expect(database.query('SHOW jit')).resolves.toEqual([{ jit: 'off' }]);
  });

  it('that is unreachable is an error at once, which does not contain its password', async () => {
    await proxy.cut();
    const url = new URL(throughProxy().url);
    url.password = 'canary';
    const error: unknown = await connect({ url: url.href }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'ECONNREFUSED' });
    expect(`${String(error)} ${JSON.stringify(error)}`).not.toContain('canary');
  });

  it('whose connections are all in use is unavailable after 3 seconds', async () => {
    expect(await codeOfExhaustedPool).toBe('unavailable');
    expect(await boxes(51)).toBe(0);
  });
});
