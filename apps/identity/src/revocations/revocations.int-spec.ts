import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { broadcasts } from '@plant-shop/contracts/broker';
import { identity, type Revocation, type Revocations } from '@plant-shop/contracts/identity';
import { createLogger } from '@plant-shop/platform/logging';
import { Nats } from '@plant-shop/platform/nats';
import { sampleOf, shapeOf } from '@plant-shop/service-testing/samples';
import { until } from '@plant-shop/testing/until';
import { digestOf, TestIdentity } from '../identity.spec.fixture.js';

describe('the revocation log', () => {
  let shop: TestIdentity;
  beforeAll(async () => {
    shop = await TestIdentity.start();
    await shop.addReplica();
  });
  afterAll(() => shop.stop());

  const head = async (): Promise<number> => (await shop.call(identity.readRevocations, { after: 0 })).head;

  /** Pulls entries in a loop, without a pause. */
  function follow(after: number): { readonly seen: Revocation[]; stop: () => Promise<void> } {
    const seen: Revocation[] = [];
    let stopped = false;
    const run = async (): Promise<void> => {
      for (let last = after; ; ) {
        const wasStopped = stopped;
        const { entries } = await shop.call(identity.readRevocations, { after: last });
        seen.push(...entries);
        last = entries.at(-1)?.position ?? last;
        if (wasStopped) return;
      }
    };
    const running = run();
    return {
      seen,
      stop: () => {
        stopped = true;
        return running;
      },
    };
  }

  it('numbers 50 concurrent revocations on two replicas without gaps and returns them in order (slow)', async () => {
    const { username, password } = await shop.register();
    const tokens: string[] = [];
    for (let n = 0; n < 50; n++) tokens.push((await shop.login(username, password)).token);
    const ids = await Promise.all(tokens.map(async (token) => (await shop.check('session', token)).id));
    const before = await head();
    const follower = follow(before);
    await Promise.all(tokens.map((token) => shop.call(identity.logout, { digest: digestOf(token) })));
    await follower.stop();
    expect(follower.seen.map(({ position }) => position)).toEqual(Array.from({ length: 50 }, (_, n) => before + 1 + n));
    expect(new Set(follower.seen.map(({ id }) => id))).toEqual(new Set(ids));
    expect(await head()).toBe(before + 50);
  });

  it('never reports a credential as live at a position at which it is revoked (slow)', async () => {
    for (let round = 0; round < 20; round++) {
      const { token } = await shop.registerAndLogin();
      const { id } = await shop.check('session', token);
      const checks = Array.from({ length: 10 }, () => shop.check('session', token).catch(() => undefined));
      const [answers] = await Promise.all([
        Promise.all(checks),
        shop.call(identity.logout, { digest: digestOf(token) }),
      ]);
      const { entries } = await shop.call(identity.readRevocations, { after: 0 });
      const revokedAt = entries.find((one) => one.id === id)!.position;
      for (const answer of answers) if (answer) expect(answer.position).toBeLessThan(revokedAt);
    }
  });

  it('notifies followers after the commit', async () => {
    const nats = await Nats.connect({ url: shop.natsUrl, name: 'follower' }, createLogger('test', 'fatal'));
    try {
      const messages = nats.connection.subscribe(broadcasts.revocations.subject);
      await nats.connection.flush();
      const { token } = await shop.registerAndLogin();
      await shop.call(identity.logout, { digest: digestOf(token) });
      const message = messages[Symbol.asyncIterator]().next();
      expect((await message).done).toBe(false);
    } finally {
      await nats.close(1_000);
    }
  });

  it('is read in pages of 1,000', async () => {
    const before = await head();
    await shop.sql.query(`
      WITH head AS (UPDATE revocation_head SET position = position + 1500 RETURNING position)
      INSERT INTO revocations (position, kind, id)
      SELECT head.position - 1500 + n, 'session', n::text FROM head, generate_series(1, 1500) n`);
    const first = await shop.call(identity.readRevocations, { after: before });
    expect(first.head).toBe(before + 1500);
    expect(first.entries.map(({ position }) => position)).toEqual(
      Array.from({ length: 1000 }, (_, n) => before + 1 + n),
    );
    const second = await shop.call(identity.readRevocations, { after: before + 1000 });
    expect(second.entries).toHaveLength(500);
    await expect(shop.call(identity.readRevocations, { after: first.head })).resolves.toMatchObject({
      head: first.head,
      entries: [],
    });
  });

  it('gives a new follower the last two hours and at least 10,000 entries, and a known one all (slow)', async () => {
    const log = await TestIdentity.start();
    try {
      await log.sql.query(`
        WITH head AS (UPDATE revocation_head SET position = 22500 RETURNING position)
        INSERT INTO revocations (position, kind, id, at)
        SELECT n, 'session', n::text, now() - CASE WHEN n <= 22000 THEN interval '3 hours' - n * interval '1 millisecond' ELSE interval '1 hour' END
        FROM head, generate_series(1, 22500) n`);
      const firstAfter = async (after: number): Promise<number | undefined> =>
        (await log.call(identity.readRevocations, { after })).entries[0]?.position;
      expect(await firstAfter(0)).toBe(12_501);
      expect(await firstAfter(7)).toBe(8);
      await log.sql.query(`UPDATE revocations SET at = now() WHERE position > 3000`);
      expect(await firstAfter(0)).toBe(3_001);
      await log.sql.query(`UPDATE revocations SET at = now()`);
      expect(await firstAfter(0)).toBe(1);
    } finally {
      await log.stop();
    }
  });

  describe('lets a follower detect a restored log', () => {
    const logout = async (): Promise<void> => {
      const { token } = await shop.registerAndLogin();
      await shop.call(identity.logout, { digest: digestOf(token) });
    };
    const read = (after: number, afterId?: string): Promise<Revocations> =>
      shop.call(identity.readRevocations, afterId === undefined ? { after } : { after, afterId });
    /** Loses everything after a position, as a restore does. */
    const restore = async (position: number): Promise<void> => {
      await shop.sql.query('DELETE FROM revocations WHERE position > $1', [position]);
      await shop.sql.query('UPDATE revocation_head SET position = $1', [position]);
    };

    it('by the id of the last entry of each page, as in the contract', async () => {
      const before = await head();
      await logout();
      const page = await read(before);
      expect(shapeOf(page)).toEqual(shapeOf(sampleOf(identity.readRevocations).answer));
      await expect(read(page.head, page.lastId)).resolves.toMatchObject({ entries: [], matches: true, lastId: page.lastId });
      await logout();
      const next = await read(page.head, page.lastId);
      expect(next.matches).toBe(true);
      expect(next.lastId).not.toBe(page.lastId);
    });

    it("also after it has grown again to or past the follower's position", async () => {
      await logout();
      const { head: backup } = await read(0);
      await logout();
      const known = await read(backup);
      await restore(backup);
      await logout();
      await expect(read(known.head, known.lastId)).resolves.toMatchObject({ head: known.head, entries: [], matches: false });
      await logout();
      const grown = await read(known.head, known.lastId);
      expect(grown).toMatchObject({ head: known.head + 1, matches: false });
      expect(grown.entries.map(({ position }) => position)).toEqual([known.head + 1]);
      await expect(read(grown.head, grown.lastId)).resolves.toMatchObject({ matches: true });
    });

    it('by the epoch, if nothing was revoked since the backup', async () => {
      const { epoch } = await read(0);
      await logout();
      expect(await read(0)).toMatchObject({ epoch });
      // Writes the same rows to a new file, as a restore does.
      await shop.sql.query('VACUUM FULL revocations');
      const restored = await read(0);
      expect(restored.epoch).not.toBe(epoch);
      expect(await read(0)).toMatchObject({ epoch: restored.epoch });
    });

    it('also long after the last revocation, whose entry is never deleted (slow)', async () => {
      await logout();
      const known = await read(await head());
      await shop.sql.query(`UPDATE revocations SET at = now() - interval '30 days'`);
      // A replica sweeps when it starts.
      await shop.addReplica();
      await until(async () => (await read(0)).entries.length === 1);
      await expect(read(known.head, known.lastId)).resolves.toMatchObject({ matches: true });
    });
  });

  it("returns the database's time even if the replica's clock is wrong", async () => {
    const between = async (clock: () => Promise<number>): Promise<void> => {
      const readClock = async (): Promise<number> => {
        const { rows } = await shop.sql.query('SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now');
        return (rows[0] as { now: number }).now;
      };
      const [from, time, to] = [await readClock(), await clock(), await readClock()];
      expect(time).toBeGreaterThanOrEqual(Math.floor(from));
      expect(time).toBeLessThanOrEqual(Math.ceil(to));
    };
    const time = async (): Promise<number> => (await shop.call(identity.readRevocations, { after: 0 })).time;
    await between(time);
    const skewed = jest.spyOn(Date, 'now').mockImplementation(() => performance.timeOrigin + performance.now() + 600_000);
    try {
      await between(time);
    } finally {
      skewed.mockRestore();
    }
  });

  it('resolves a user to permissions until the user is deleted', async () => {
    const { userId } = await shop.registerAndLogin();
    await expect(shop.call(identity.resolveSubject, { userId })).resolves.toEqual({
      permissions: ['read:plants', 'write:orders', 'webhooks'],
      position: await head(),
    });
    await expect(
      shop.call(identity.resolveSubject, { userId: '00000000-0000-4000-8000-000000000001' }),
    ).rejects.toMatchObject({ code: 'credential-refused' });
  });

  it('keeps entries for 48 hours, and expired rows are deleted (slow)', async () => {
    const { token, userId } = await shop.registerAndLogin();
    await shop.sql.query(`
      WITH head AS (UPDATE revocation_head SET position = position + 2 RETURNING position)
      INSERT INTO revocations (position, kind, id, at)
      SELECT position - 1, 'user', 'old', now() - interval '49 hours' FROM head UNION ALL
      SELECT position, 'user', 'recent', now() - interval '47 hours' FROM head`);
    await shop.sql.query(`UPDATE sessions SET expires_at = now() - interval '1 second' WHERE user_id = $1`, [userId]);
    await shop.sql.query(`INSERT INTO login_failures VALUES (pg_catalog.sha256('x'), 3, now() - interval '1 second')`);
    await shop.sql.query(
      `INSERT INTO api_keys (id, user_id, name, prefix, key_hash, permissions, revoked_at)
       VALUES (gen_random_uuid(), $1, 'dead', 'pk_', pg_catalog.sha256('dead'), '{}', now() - interval '31 days')`,
      [userId],
    );
    // A replica sweeps when it starts.
    await shop.addReplica();
    const left = async (): Promise<unknown> =>
      (
        await shop.sql.query(
          `SELECT (SELECT count(*)::int FROM sessions WHERE expires_at < now()) AS sessions,
             (SELECT count(*)::int FROM login_failures WHERE window_ends_at < now()) AS failures,
             (SELECT count(*)::int FROM api_keys WHERE name = 'dead') AS keys,
             (SELECT array_agg(id) FROM revocations WHERE id IN ('old', 'recent')) AS revocations`,
        )
      ).rows[0];
    const swept = { sessions: 0, failures: 0, keys: 0, revocations: ['recent'] };
    for (let n = 0; n < 60 && JSON.stringify(await left()) !== JSON.stringify(swept); n++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(await left()).toEqual(swept);
    await expect(shop.check('session', token)).rejects.toMatchObject({ code: 'credential-refused' });
  });
});
