import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { type OpenOrders, store } from '@plant-shop/contracts/store';
import { theService, unavailable } from '@plant-shop/platform/errors';
import { fake, startFake } from '@plant-shop/service-testing/service';
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

  /** Starts a fake store and returns the ids it is called with. Until then no store is running. */
  async function startStore(answer: (attempt: number) => OpenOrders | Promise<OpenOrders>): Promise<string[]> {
    const closed: string[] = [];
    const closeCustomer = fake(store.closeCustomer, async ({ userId, attempt = 0 }) => {
      closed.push(userId);
      return answer(attempt);
    });
    stopStore = (await startFake(shop.natsUrl, 'store', [closeCustomer])).stop;
    return closed;
  }

  const isPending = async (userId: string): Promise<boolean> =>
    ((await shop.sql.query('SELECT 1 FROM user_deletions WHERE user_id = $1', [userId])).rowCount ?? 0) > 0;
  const isThere = async (userId: string): Promise<boolean> =>
    ((await shop.sql.query('SELECT 1 FROM users WHERE user_id = $1', [userId])).rowCount ?? 0) > 0;
  const revocationsOf = async (userId: string): Promise<number | null> =>
    (await shop.sql.query(`SELECT 1 FROM revocations WHERE kind = 'user' AND id = $1`, [userId])).rowCount;

  /** Records an intent with an expired lease, as a process leaves it that dies or loses the store's answer. */
  const leaveIntent = (userId: string): Promise<unknown> =>
    shop.sql.query(
      `INSERT INTO user_deletions (user_id, attempt, leased_until)
       VALUES ($1, nextval('deletion_attempts'), now() - interval '1 second')`,
      [userId],
    );

  /** Ends the lease of a pending deletion, if it has not completed yet. */
  const endLease = (userId: string): Promise<unknown> =>
    shop.sql.query(`UPDATE user_deletions SET leased_until = now() - interval '1 second' WHERE user_id = $1`, [userId]);

  const audited = async (userId: string) =>
    (await shop.call(identity.readAudit, { operation: 'identity.deleteUser' })).filter(({ target }) => target === userId);

  it('audits who deleted another user, also if the deletion completes long after the request', async () => {
    const { username, userId } = await shop.registerAndLogin();
    await expect(shop.call(identity.deleteUser, { username }, manager)).rejects.toMatchObject({ code: 'unavailable' });
    await startStore(() => {
      throw new Error('lost answer');
    });
    await expect(shop.call(identity.deleteUser, { username }, manager)).rejects.toMatchObject({ code: 'outcome-unknown' });
    expect(await audited(userId)).toEqual([]);
    await stopStore?.();
    await startStore(() => ({ openOrders: [] }));
    await endLease(userId);
    await until(async () => !(await isThere(userId)), 20_000);
    expect(await audited(userId)).toMatchObject([{ subject: manager.subject, credentials: [{ kind: 'apiKey' }], requestId: 'test' }]);
  });

  it('audits a request by another user, also if the user then requests the same deletion', async () => {
    const { username, userId, principal } = await shop.registerAndLogin();
    await startStore(() => {
      throw new Error('lost answer');
    });
    await expect(shop.call(identity.deleteUser, { username }, manager)).rejects.toMatchObject({ code: 'outcome-unknown' });
    await stopStore?.();
    await startStore(() => ({ openOrders: [] }));
    await shop.call(identity.deleteUser, { username }, principal).catch((error: unknown) => expect(error).toMatchObject({ code: 'user-not-found' }));
    expect(await isThere(userId)).toBe(false);
    expect(await audited(userId)).toMatchObject([{ subject: manager.subject }]);
  });

  it('is not audited when users delete themselves', async () => {
    await startStore(() => ({ openOrders: [] }));
    const { username, userId, principal } = await shop.registerAndLogin();
    await shop.call(identity.deleteUser, { username }, principal);
    expect(await audited(userId)).toEqual([]);
  });

  it('removes the profile, sessions and keys, and is logged', async () => {
    const closed = await startStore(() => ({ openOrders: [] }));
    const { username, password, userId, token, principal } = await shop.registerAndLogin();
    const { key } = await shop.call(identity.createApiKey, { username, apiKey: { name: 'k' } }, principal);
    await expect(shop.call(identity.deleteUser, { username }, principal)).resolves.toEqual({ username });
    expect(closed).toEqual([userId]);
    await expect(shop.call(identity.getUser, { username })).rejects.toMatchObject({ code: 'user-not-found' });
    await expect(shop.check('session', token)).rejects.toMatchObject({ code: 'credential-refused' });
    await expect(shop.check('apiKey', key)).rejects.toMatchObject({ code: 'credential-refused' });
    await expect(shop.login(username, password)).rejects.toMatchObject({ code: 'login-failed' });
    expect(await revocationsOf(userId)).toBe(1);
    await expect(shop.call(identity.deleteUser, { username }, manager)).rejects.toMatchObject({
      code: 'user-not-found',
    });
    // The name is free again and belongs to a new user.
    await shop.register({ username, password });
    const next = await shop.check('session', (await shop.login(username, password)).token);
    expect(next.userId).not.toBe(userId);
  });

  it('is refused with the open orders, and changes nothing', async () => {
    await startStore(() => ({ openOrders: [11, 12] }));
    const { username, password, userId, token, principal } = await shop.registerAndLogin();
    await expect(shop.call(identity.deleteUser, { username }, principal)).rejects.toMatchObject({
      code: 'user-has-open-orders',
      details: { orders: [11, 12] },
    });
    expect(await isPending(userId)).toBe(false);
    await expect(shop.check('session', token)).resolves.toMatchObject({ userId });
    await expect(shop.login(username, password)).resolves.toMatchObject({ token: expect.any(String) });
  });

  it('needs a session of the user or write:users, and the expected version', async () => {
    const closed = await startStore(() => ({ openOrders: [] }));
    const { username, userId, principal } = await shop.registerAndLogin();
    const stranger = (await shop.registerAndLogin()).principal;
    for (const one of [stranger, { ...principal, shown: ['apiKey'] }]) {
      await expect(shop.call(identity.deleteUser, { username }, one)).rejects.toMatchObject({ code: 'forbidden' });
    }
    const version = await shop.versionOf(username);
    for (const ifVersion of [0, version + 1]) {
      await expect(shop.call(identity.deleteUser, { username, ifVersion }, principal)).rejects.toMatchObject({
        code: 'precondition-failed',
      });
    }
    expect(closed).toEqual([]);
    expect(await isPending(userId)).toBe(false);
    await shop.call(identity.updateUser, { username, user: { phone: '1' }, ifVersion: version }, principal);
    await expect(shop.call(identity.deleteUser, { username, ifVersion: version }, principal)).rejects.toMatchObject({
      code: 'precondition-failed',
    });
    await shop.call(identity.deleteUser, { username, ifVersion: await shop.versionOf(username) }, principal);
    expect(closed).toEqual([userId]);
  });

  it('has no effect without a store, and none later', async () => {
    const { username, userId, principal } = await shop.registerAndLogin();
    await expect(shop.call(identity.deleteUser, { username }, principal)).rejects.toMatchObject({ code: 'unavailable' });
    expect(await isPending(userId)).toBe(false);
    const closed = await startStore(() => ({ openOrders: [] }));
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(closed).toEqual([]);
    expect(await isThere(userId)).toBe(true);
  });

  it('has an unknown outcome when the store does not answer, and completes later', async () => {
    // A loop calls again at once, and gets no answer either.
    const answers: ((orders: OpenOrders) => void)[] = [];
    await startStore(() => new Promise((resolve) => answers.push(resolve)));
    const { username, userId, token, principal } = await shop.registerAndLogin();
    await expect(shop.caller.call(identity.deleteUser, { username }, principal, 300)).rejects.toMatchObject({
      code: 'outcome-unknown',
    });
    answers[0]?.({ openOrders: [] });
    expect(await isPending(userId)).toBe(true);
    await expect(shop.check('session', token)).resolves.toMatchObject({ userId });
    await stopStore?.();
    await startStore(() => ({ openOrders: [] }));
    await endLease(userId);
    await until(async () => !(await isThere(userId)));
    expect(await revocationsOf(userId)).toBe(1);
    await expect(shop.check('session', token)).rejects.toMatchObject({ code: 'credential-refused' });
  });

  it('has an unknown outcome when the store has closed the customer and deleting the user fails, and completes later', async () => {
    const closed = await startStore(() => ({ openOrders: [] }));
    const { username, userId, principal } = await shop.registerAndLogin();
    await shop.sql.query(`
      CREATE FUNCTION refuse_deletion() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no deletions today'; END $$;
      CREATE TRIGGER refuse_deletion BEFORE DELETE ON users FOR EACH ROW EXECUTE FUNCTION refuse_deletion()`);
    try {
      await expect(shop.call(identity.deleteUser, { username }, principal)).rejects.toMatchObject({
        code: 'outcome-unknown',
        message: expect.stringMatching(/^It is not known yet whether the user was deleted\./),
      });
    } finally {
      await shop.sql.query('DROP TRIGGER refuse_deletion ON users; DROP FUNCTION refuse_deletion');
    }
    expect(closed).toContain(userId);
    expect(await isThere(userId)).toBe(true);
    await endLease(userId);
    await until(async () => !(await isThere(userId)));
  });

  it('has an unknown outcome without a store when an earlier attempt may have closed the customer', async () => {
    const { username, userId, principal } = await shop.registerAndLogin();
    await shop.sql.query(
      `INSERT INTO user_deletions (user_id, attempt, leased_until)
       VALUES ($1, nextval('deletion_attempts'), now() + interval '1 minute')`,
      [userId],
    );
    await expect(shop.call(identity.deleteUser, { username }, principal)).rejects.toMatchObject({
      code: 'outcome-unknown',
    });
    expect(await isPending(userId)).toBe(true);
  });

  it('resumes after a crash between any two steps, on one replica only (slow)', async () => {
    const users = await Promise.all(Array.from({ length: 10 }, () => shop.registerAndLogin()));
    const closed = await startStore(async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return { openOrders: [] };
    });
    for (const { userId } of users) await leaveIntent(userId);
    for (const { userId } of users) await until(async () => !(await isThere(userId)));
    expect([...closed].sort()).toEqual(users.map(({ userId }) => userId).sort());
    for (const { userId } of users) expect(await revocationsOf(userId)).toBe(1);
  });

  it('is dropped after a crash when the store returns open orders', async () => {
    await startStore(() => ({ openOrders: [5] }));
    const { userId, token } = await shop.registerAndLogin();
    await leaveIntent(userId);
    await until(async () => !(await isPending(userId)));
    await expect(shop.check('session', token)).resolves.toMatchObject({ userId });
  });

  it('resumes when the store comes back', async () => {
    const { userId } = await shop.registerAndLogin();
    await leaveIntent(userId);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await isThere(userId)).toBe(true);
    await startStore(() => ({ openOrders: [] }));
    await endLease(userId);
    await until(async () => !(await isThere(userId)));
  });

  it('happens once when requested many times concurrently', async () => {
    await startStore(() => ({ openOrders: [] }));
    const { username, userId } = await shop.registerAndLogin();
    const results = await Promise.allSettled(
      Array.from({ length: 10 }, () => shop.call(identity.deleteUser, { username }, manager)),
    );
    const codes = results.map((one) => (one.status === 'fulfilled' ? 'ok' : (one.reason as { code: string }).code));
    expect(codes).toContain('ok');
    expect(codes.filter((code) => code !== 'ok' && code !== 'user-not-found')).toEqual([]);
    expect(await revocationsOf(userId)).toBe(1);
  });

  it('repeats an attempt that a newer one has overtaken, and answers both requests', async () => {
    const { username, userId } = await shop.registerAndLogin();
    let refused = 0;
    const attempts: number[] = [];
    let answerFirst: () => void = () => undefined;
    const first = new Promise<void>((resolve) => (answerFirst = resolve));
    await startStore(async (attempt) => {
      attempts.push(attempt);
      if (attempts.length === 1) await first;
      if (attempt < refused) throw unavailable(theService('store'));
      refused = attempt;
      return { openOrders: [4] };
    });
    const deleteRefused = (): Promise<unknown> =>
      expect(shop.call(identity.deleteUser, { username }, manager)).rejects.toMatchObject({
        code: 'user-has-open-orders',
        details: { orders: [4] },
      });
    const older = deleteRefused();
    await until(() => attempts.length === 1);
    await deleteRefused();
    answerFirst();
    await older;
    const [one = 0, two = 0, three = 0] = attempts;
    expect(attempts).toHaveLength(3);
    expect([one < two, two < three]).toEqual([true, true]);
    expect(await isPending(userId)).toBe(false);
    expect(await isThere(userId)).toBe(true);
  });

  it('lets the newer attempt decide: an older one does not drop the intent', async () => {
    const { username, userId } = await shop.registerAndLogin();
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
