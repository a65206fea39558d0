import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { permissionsOfRole, type Role } from '@plant-shop/contracts/permissions';
import { store } from '@plant-shop/contracts/store';
import { contextFor, fake, startFake } from '@plant-shop/service-testing/service';
import { until } from '@plant-shop/testing/until';
import type pg from 'pg';
import { Follower } from '../credentials/follower.spec.fixture.js';
import { manager, TestIdentity } from '../identity.spec.fixture.js';

type Entered = Awaited<ReturnType<TestIdentity['registerAndLogin']>>;

describe('roles', () => {
  let shop: TestIdentity;
  let stopStore: () => Promise<void>;
  beforeAll(async () => {
    // Only requests run deletions: the background loop would wait for the locks that are held below.
    shop = await TestIdentity.start({}, { deletionIntervalMs: 3_600_000 });
    stopStore = (await startFake(shop.natsUrl, 'store', [fake(store.closeCustomer, () => ({ openOrders: [] }))])).stop;
  });
  afterEach(() => shop.sql.query(`UPDATE users SET role = 'customer'`));
  afterAll(async () => {
    await stopStore();
    await shop.stop();
  });

  const setRole = (username: string, role: Role, ifVersion?: number) =>
    shop.call(identity.setUserRole, { username, assignment: { role }, ...(ifVersion !== undefined && { ifVersion }) }, manager);
  const admin = async (): Promise<Entered> => {
    const user = await shop.registerAndLogin();
    await shop.sql.query(`UPDATE users SET role = 'admin' WHERE user_id = $1`, [user.userId]);
    return user;
  };
  const admins = async (): Promise<string[]> =>
    (await shop.sql.query<{ username: string }>(`SELECT username FROM users WHERE role = 'admin' ORDER BY 1`)).rows.map(({ username }) => username);
  const codeOf = (call: Promise<unknown>): Promise<string> =>
    call.then(
      () => 'done',
      (error: unknown) => (error as { code: string }).code,
    );

  it('are set with write:users, take effect within a second, and are audited', async () => {
    const { username, userId, token, user } = await shop.registerAndLogin();
    const follower = await Follower.start(shop);
    try {
      expect(await follower.check('session', token)).toMatchObject({ permissions: permissionsOfRole.customer });
      expect(await setRole(username.toUpperCase(), 'staff')).toEqual({ ...user, role: 'staff', updatedAt: expect.any(String) });
      await until(async () => (await follower.check('session', token)).permissions.includes('write:plants'), 1_000);
    } finally {
      await follower.stop();
    }
    expect((await shop.call(identity.readAudit, { operation: 'identity.setUserRole', limit: 1 }))[0]).toMatchObject({
      subject: manager.subject,
      credentials: [{ kind: 'apiKey' }],
      target: `${userId}: customer to staff`,
    });
  });

  it('are visible with write:users only', async () => {
    const { username, principal } = await shop.registerAndLogin();
    expect(await shop.call(identity.getUser, { username }, manager)).toMatchObject({ role: 'customer' });
    expect(await shop.call(identity.updateUser, { username, user: { phone: '1' } }, manager)).toMatchObject({ role: 'customer' });
    expect(await shop.call(identity.getUser, { username }, principal)).not.toHaveProperty('role');
    expect(await shop.call(identity.updateUser, { username, user: { phone: '1' } }, principal)).not.toHaveProperty('role');
    expect(await shop.call(identity.getUser, { username })).not.toHaveProperty('role');
  });

  it('are changed only in the expected version, which then increases', async () => {
    const { username } = await shop.register();
    const first = await shop.versionOf(username);
    const change = (ifVersion: number, role: Role) => shop.caller.client.callRaw(identity.setUserRole, { username, assignment: { role }, ifVersion }, contextFor(manager));
    expect(await codeOf(setRole(username, 'staff', first + 1))).toBe('precondition-failed');
    const { version: second = 0 } = await change(first, 'staff');
    expect(second).toBeGreaterThan(first);
    expect(await codeOf(setRole(username, 'admin', first))).toBe('precondition-failed');
    // Setting the same role is no change.
    const { head } = await shop.call(identity.readRevocations, { after: 0 });
    expect((await change(second, 'staff')).version).toBe(second);
    expect((await shop.call(identity.readRevocations, { after: head })).entries).toEqual([]);
  });

  it('cannot be changed by users themselves, nor for unknown users', async () => {
    const { username, principal } = await shop.registerAndLogin();
    const own = shop.call(identity.setUserRole, { username, assignment: { role: 'admin' } }, principal);
    expect(await codeOf(own)).toBe('forbidden');
    expect(await codeOf(setRole('unknown-user', 'staff'))).toBe('user-not-found');
    await expect(shop.call(identity.setUserRole, { username, assignment: { role: 'king' as Role } }, manager)).rejects.toMatchObject({
      code: 'invalid-input',
      details: { errors: [{ pointer: '/assignment/role', detail: 'must be one of customer, staff, admin' }] },
    });
  });

  describe('of admins', () => {
    it('the last one can be neither demoted nor deleted', async () => {
      const { username, principal } = await admin();
      expect(await codeOf(setRole(username, 'staff'))).toBe('last-admin');
      expect(await codeOf(shop.call(identity.deleteUser, { username }, manager))).toBe('last-admin');
      expect(await codeOf(shop.call(identity.deleteUser, { username }, principal))).toBe('last-admin');
      expect(await setRole(username, 'admin')).toMatchObject({ role: 'admin' });
      const other = await shop.register();
      await setRole(other.username, 'admin');
      expect(await setRole(username, 'customer')).toMatchObject({ role: 'customer' });
      expect(await admins()).toEqual([other.username]);
      await shop.call(identity.deleteUser, { username }, principal);
    });

    it('one whose deletion is recorded does not count', async () => {
      const [one, other] = [await admin(), await admin()];
      await shop.sql.query(
        `INSERT INTO user_deletions (user_id, attempt, leased_until) VALUES ($1, nextval('deletion_attempts'), now() + interval '1 minute')`,
        [one.userId],
      );
      expect(await codeOf(setRole(other.username, 'staff'))).toBe('last-admin');
      expect(await codeOf(shop.call(identity.deleteUser, { username: other.username }, manager))).toBe('last-admin');
      // A recorded deletion can be requested again.
      expect(await codeOf(shop.call(identity.deleteUser, { username: one.username }, manager))).toBe('done');
    });

    /** Runs two requests so that both have counted the admins, or wait to, before either commits. */
    async function together(first: () => Promise<unknown>, second: () => Promise<unknown>): Promise<string[]> {
      const holder: pg.PoolClient = await shop.sql.connect();
      try {
        // Locks what a change of role writes last and what a deletion writes first after counting.
        await holder.query('BEGIN; SELECT 1 FROM revocation_head FOR UPDATE; LOCK TABLE user_deletions IN SHARE MODE');
        const codes = [first(), second()].map(codeOf);
        await until(async () => (await shop.waitingForLocks()) === 2);
        await holder.query('COMMIT');
        return (await Promise.all(codes)).sort();
      } finally {
        await holder.query('ROLLBACK');
        holder.release();
      }
    }

    it.each(['demotes', 'deletes'] as const)('one of two stays when each %s the other', async (verb) => {
      const [one, other] = [await admin(), await admin()];
      const remove = (user: Entered, by: Entered): Promise<unknown> => {
        const principal = { ...by.principal, permissions: permissionsOfRole.admin };
        return verb === 'demotes'
          ? shop.call(identity.setUserRole, { username: user.username, assignment: { role: 'customer' } }, principal)
          : shop.call(identity.deleteUser, { username: user.username }, principal);
      };
      expect(await together(() => remove(one, other), () => remove(other, one))).toEqual(['done', 'last-admin']);
      expect(await admins()).toHaveLength(1);
    });

    it('one of two stays when one is demoted while the other is deleted', async () => {
      const [one, other] = [await admin(), await admin()];
      const demote = () => setRole(one.username, 'staff');
      const remove = () => shop.call(identity.deleteUser, { username: other.username }, manager);
      expect(await together(demote, remove)).toEqual(['done', 'last-admin']);
      expect(await admins()).toHaveLength(1);
    });

    it('one of many stays under concurrent demotions and deletions', async () => {
      const many = await Promise.all(Array.from({ length: 8 }, admin));
      const codes = await Promise.all(
        many.map(({ username }, n) => codeOf(n % 2 === 0 ? setRole(username, 'staff') : shop.call(identity.deleteUser, { username }, manager))),
      );
      expect(codes.filter((code) => code === 'done')).toHaveLength(7);
      expect(codes.filter((code) => code === 'last-admin')).toHaveLength(1);
      expect(await admins()).toHaveLength(1);
    });
  });
});
