import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { type OpenOrders, store } from '@plant-shop/contracts/store';
import { unavailable } from '@plant-shop/platform/errors';
import { fake, startFake } from '@plant-shop/testing/service';
import { until } from '@plant-shop/testing/until';
import { manager, TestIdentity } from '../identity.spec.fixture.js';

describe('deleting a user', () => {
  let shop: TestIdentity;
  let stopStore: (() => Promise<void>) | undefined;
  beforeAll(async () => {
    shop = await TestIdentity.start();
    await shop.addReplica();
  });
  afterEach(async () => {
    await stopStore?.();
    stopStore = undefined;
  });
  afterAll(() => shop.stop());

  /** A store that answers like this; without one there is none. */
  async function startStore(answer: (attempt: number) => OpenOrders | Promise<OpenOrders>): Promise<string[]> {
    const asked: string[] = [];
    const closeCustomer = fake(store.closeCustomer, async ({ userId, attempt = 0 }) => {
      asked.push(userId);
      return answer(attempt);
    });
    stopStore = (await startFake(shop.natsUrl, 'store', [closeCustomer])).stop;
    return asked;
  }

  const isPending = async (userId: string): Promise<boolean> =>
    ((await shop.sql.query('SELECT 1 FROM user_deletions WHERE user_id = $1', [userId])).rowCount ?? 0) > 0;
  const isThere = async (userId: string): Promise<boolean> =>
    ((await shop.sql.query('SELECT 1 FROM users WHERE user_id = $1', [userId])).rowCount ?? 0) > 0;
  const revocationsOf = async (userId: string): Promise<number | null> =>
    (await shop.sql.query(`SELECT 1 FROM revocations WHERE kind = 'user' AND id = $1`, [userId])).rowCount;

  /** What a process leaves behind that died, or lost the store's answer, while it deleted this user. */
  const leaveIntent = (userId: string): Promise<unknown> =>
    shop.sql.query(
      `INSERT INTO user_deletions (user_id, attempt, leased_until)
       VALUES ($1, nextval('deletion_attempts'), now() - interval '1 second')
       ON CONFLICT (user_id) DO UPDATE SET leased_until = excluded.leased_until`,
      [userId],
    );

  const audited = async (userId: string) =>
    (await shop.call(identity.readAudit, { operation: 'identity.deleteUser' })).filter(({ target }) => target === userId);

  it('names in the audit log who deleted somebody else, also when the request is long gone by then', async () => {
    const { username, userId } = await shop.enter();
    await expect(shop.call(identity.deleteUser, { username }, manager)).rejects.toMatchObject({ code: 'unavailable' });
    await startStore(() => {
      throw new Error('its answer is lost');
    });
    await expect(shop.call(identity.deleteUser, { username }, manager)).rejects.toMatchObject({ code: 'internal' });
    expect(await audited(userId)).toEqual([]);
    await stopStore?.();
    await startStore(() => ({ openOrders: [] }));
    await shop.sql.query(`UPDATE user_deletions SET leased_until = now() - interval '1 second' WHERE user_id = $1`, [userId]);
    await until(async () => !(await isThere(userId)), 20_000);
    expect(await audited(userId)).toMatchObject([{ subject: manager.subject, credentials: ['apiKey'], requestId: 'test' }]);
  });

  it('is not written down where users delete themselves', async () => {
    await startStore(() => ({ openOrders: [] }));
    const { username, userId, inPerson } = await shop.enter();
    await shop.call(identity.deleteUser, { username }, inPerson);
    expect(await audited(userId)).toEqual([]);
  });

  it('removes the profile, sessions and keys, and tells the log', async () => {
    const asked = await startStore(() => ({ openOrders: [] }));
    const { username, password, userId, token, inPerson } = await shop.enter();
    const { key } = await shop.call(identity.createApiKey, { username, apiKey: { name: 'k' } }, inPerson);
    await expect(shop.call(identity.deleteUser, { username }, inPerson)).resolves.toEqual({ username });
    expect(asked).toEqual([userId]);
    await expect(shop.call(identity.getUser, { username })).rejects.toMatchObject({ code: 'user-not-found' });
    await expect(shop.check('session', token)).rejects.toMatchObject({ code: 'credential-refused' });
    await expect(shop.check('apiKey', key)).rejects.toMatchObject({ code: 'credential-refused' });
    await expect(shop.login(username, password)).rejects.toMatchObject({ code: 'login-failed' });
    expect(await revocationsOf(userId)).toBe(1);
    await expect(shop.call(identity.deleteUser, { username }, manager)).rejects.toMatchObject({
      code: 'user-not-found',
    });
    // The name is free again, and leads to somebody else.
    await shop.register({ username, password });
    const next = await shop.check('session', (await shop.login(username, password)).token);
    expect(next.userId).not.toBe(userId);
  });

  it('is refused while orders are open, which are named, and changes nothing', async () => {
    await startStore(() => ({ openOrders: [11, 12] }));
    const { username, password, userId, token, inPerson } = await shop.enter();
    await expect(shop.call(identity.deleteUser, { username }, inPerson)).rejects.toMatchObject({
      code: 'user-has-open-orders',
      details: { orders: [11, 12] },
    });
    expect(await isPending(userId)).toBe(false);
    await expect(shop.check('session', token)).resolves.toMatchObject({ userId });
    await expect(shop.login(username, password)).resolves.toMatchObject({ token: expect.any(String) });
  });

  it('is for the user in person and managers only, and for the version that was expected', async () => {
    const asked = await startStore(() => ({ openOrders: [] }));
    const { username, userId, inPerson } = await shop.enter();
    const stranger = (await shop.enter()).inPerson;
    for (const caller of [stranger, { ...inPerson, shown: ['apiKey'] }]) {
      await expect(shop.call(identity.deleteUser, { username }, caller)).rejects.toMatchObject({ code: 'forbidden' });
    }
    for (const ifVersion of [0, 7]) {
      await expect(shop.call(identity.deleteUser, { username, ifVersion }, inPerson)).rejects.toMatchObject({
        code: 'precondition-failed',
      });
    }
    expect(asked).toEqual([]);
    expect(await isPending(userId)).toBe(false);
    await shop.call(identity.updateUser, { username, user: { phone: '1' }, ifVersion: 1 }, inPerson);
    await expect(shop.call(identity.deleteUser, { username, ifVersion: 1 }, inPerson)).rejects.toMatchObject({
      code: 'precondition-failed',
    });
    await shop.call(identity.deleteUser, { username, ifVersion: 2 }, inPerson);
    expect(asked).toEqual([userId]);
  });

  it('did not happen when the store is not there, and does not happen later by itself', async () => {
    const { username, userId, inPerson } = await shop.enter();
    await expect(shop.call(identity.deleteUser, { username }, inPerson)).rejects.toMatchObject({ code: 'unavailable' });
    expect(await isPending(userId)).toBe(false);
    const asked = await startStore(() => ({ openOrders: [] }));
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(asked).toEqual([]);
    expect(await isThere(userId)).toBe(true);
  });

  it('has an unknown outcome when the store does not answer, and is carried on later', async () => {
    let answer: (orders: OpenOrders) => void = () => undefined;
    await startStore(() => new Promise((resolve) => (answer = resolve)));
    const { username, userId, token, inPerson } = await shop.enter();
    await expect(shop.caller.call(identity.deleteUser, { username }, inPerson, 300)).rejects.toMatchObject({
      code: 'outcome-unknown',
    });
    answer({ openOrders: [] });
    expect(await isPending(userId)).toBe(true);
    await expect(shop.check('session', token)).resolves.toMatchObject({ userId });
    await stopStore?.();
    await startStore(() => ({ openOrders: [] }));
    await leaveIntent(userId);
    await until(async () => !(await isThere(userId)));
    expect(await revocationsOf(userId)).toBe(1);
    await expect(shop.check('session', token)).rejects.toMatchObject({ code: 'credential-refused' });
  });

  it('has an unknown outcome when the store is away but an earlier attempt may have closed the customer', async () => {
    const { username, userId, inPerson } = await shop.enter();
    await shop.sql.query(
      `INSERT INTO user_deletions (user_id, attempt, leased_until)
       VALUES ($1, nextval('deletion_attempts'), now() + interval '1 minute')`,
      [userId],
    );
    await expect(shop.call(identity.deleteUser, { username }, inPerson)).rejects.toMatchObject({
      code: 'outcome-unknown',
    });
    expect(await isPending(userId)).toBe(true);
  });

  it('goes on after a crash between any two steps, once for all replicas', async () => {
    const users = await Promise.all(Array.from({ length: 10 }, () => shop.enter()));
    const asked = await startStore(async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return { openOrders: [] };
    });
    for (const { userId } of users) await leaveIntent(userId);
    for (const { userId } of users) await until(async () => !(await isThere(userId)));
    expect([...asked].sort()).toEqual(users.map(({ userId }) => userId).sort());
    for (const { userId } of users) expect(await revocationsOf(userId)).toBe(1);
  });

  it('is given up after a crash when the store names open orders', async () => {
    await startStore(() => ({ openOrders: [5] }));
    const { userId, token } = await shop.enter();
    await leaveIntent(userId);
    await until(async () => !(await isPending(userId)));
    await expect(shop.check('session', token)).resolves.toMatchObject({ userId });
  });

  it('waits for a store that comes back later', async () => {
    const { userId } = await shop.enter();
    await leaveIntent(userId);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await isThere(userId)).toBe(true);
    await startStore(() => ({ openOrders: [] }));
    await leaveIntent(userId);
    await until(async () => !(await isThere(userId)));
  });

  it('happens once when it is asked for many times at once', async () => {
    await startStore(() => ({ openOrders: [] }));
    const { username, userId } = await shop.enter();
    const results = await Promise.allSettled(
      Array.from({ length: 10 }, () => shop.call(identity.deleteUser, { username }, manager)),
    );
    const codes = results.map((one) => (one.status === 'fulfilled' ? 'ok' : (one.reason as { code: string }).code));
    expect(codes).toContain('ok');
    expect(codes.filter((code) => code !== 'ok' && code !== 'user-not-found')).toEqual([]);
    expect(await revocationsOf(userId)).toBe(1);
  });

  it('of attempts that overtake each other, makes the older one anew, and answers both', async () => {
    const { username, userId } = await shop.enter();
    let refused = 0;
    const attempts: number[] = [];
    let answerFirst: () => void = () => undefined;
    const first = new Promise<void>((resolve) => (answerFirst = resolve));
    await startStore(async (attempt) => {
      attempts.push(attempt);
      if (attempts.length === 1) await first;
      if (attempt < refused) throw unavailable('store');
      refused = attempt;
      return { openOrders: [4] };
    });
    const ask = (): Promise<unknown> =>
      expect(shop.call(identity.deleteUser, { username }, manager)).rejects.toMatchObject({
        code: 'user-has-open-orders',
        details: { orders: [4] },
      });
    const older = ask();
    await until(() => attempts.length === 1);
    await ask();
    answerFirst();
    await older;
    const [one = 0, two = 0, three = 0] = attempts;
    expect(attempts).toHaveLength(3);
    expect([one < two, two < three]).toEqual([true, true]);
    expect(await isPending(userId)).toBe(false);
    expect(await isThere(userId)).toBe(true);
  });

  it('lets a newer attempt decide: an older one drops nothing', async () => {
    const { username, userId } = await shop.enter();
    let first = true;
    await startStore(async () => {
      if (!first) return { openOrders: [] };
      first = false;
      // While the older attempt waits for its answer, another process takes over.
      await shop.sql.query(`UPDATE user_deletions SET attempt = nextval('deletion_attempts') WHERE user_id = $1`, [
        userId,
      ]);
      return { openOrders: [3] };
    });
    await expect(shop.call(identity.deleteUser, { username }, manager)).rejects.toMatchObject({
      code: 'user-has-open-orders',
    });
    expect(await isPending(userId)).toBe(true);
  });
});
