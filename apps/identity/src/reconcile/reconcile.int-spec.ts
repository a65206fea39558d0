import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import type { UserFinding } from '@plant-shop/contracts/reconcile';
import { store } from '@plant-shop/contracts/store';
import { theService, unavailable } from '@plant-shop/platform/errors';
import { sampleOf, shapeOf } from '@plant-shop/service-testing/samples';
import { fake, startFake } from '@plant-shop/service-testing/service';
import { until } from '@plant-shop/testing/until';
import { TestIdentity } from '../identity.spec.fixture.js';

interface Customer {
  closed: boolean;
  openOrders: number[];
  refusedAttempt: number;
}

describe('after a database was restored', () => {
  let shop: TestIdentity;
  let stopStore: () => Promise<void>;
  const customers = new Map<string, Customer>();
  let isStoreDown = false;
  beforeAll(async () => {
    shop = await TestIdentity.start();
    await shop.addReplica();
    ({ stop: stopStore } = await startFake(shop.natsUrl, 'store', [
      fake(store.listCustomers, ({ after = '', limit = 1_000 }) =>
        [...customers]
          .map(([userId, { closed }]) => ({ userId, closed }))
          .filter(({ userId }) => userId > after)
          .sort((a, b) => (a.userId < b.userId ? -1 : 1))
          .slice(0, limit),
      ),
      fake(store.readHighestNumbers, () => ({
        ...sampleOf(store.readHighestNumbers).answer,
        closeAttempt: Math.max(0, ...[...customers.values()].map(({ refusedAttempt }) => refusedAttempt)),
      })),
      fake(store.closeCustomer, ({ userId, attempt = 0 }) => {
        const customer = customers.get(userId) ?? customerOf(userId);
        if (customer.closed) return { openOrders: [] };
        if (isStoreDown || attempt < customer.refusedAttempt) throw unavailable(theService('store'));
        customer.closed = customer.openOrders.length === 0;
        return { openOrders: customer.openOrders };
      }),
    ]));
  });
  beforeEach(() => {
    customers.clear();
    isStoreDown = false;
  });
  afterAll(async () => {
    await shop.stop();
    await stopStore();
  });

  function customerOf(userId: string, state: Partial<Customer> = {}): Customer {
    const customer = { closed: false, openOrders: [], refusedAttempt: 0, ...state };
    customers.set(userId, customer);
    return customer;
  }
  async function reconcile({ limit = 1, dryRun = false } = {}): Promise<UserFinding[]> {
    const findings: UserFinding[] = [];
    for (let page: { after?: string } = {}; ; ) {
      const { next, ...found } = await shop.call(identity.reconcileUsers, { ...page, limit, dryRun });
      findings.push(...found.findings);
      if (next === undefined) return findings;
      page = { after: next };
    }
  }
  const isThere = async (userId: string): Promise<boolean> =>
    ((await shop.sql.query('SELECT 1 FROM users WHERE user_id = $1', [userId])).rowCount ?? 0) > 0;

  it('users with or without a customer, and closed customers of deleted users, are no drift', async () => {
    const { userId } = await shop.registerAndLogin();
    await shop.registerAndLogin();
    customerOf(userId);
    customerOf(randomUUID(), { closed: true });
    expect(await reconcile()).toEqual([]);
  });

  it('a restored user whom the store knows as deleted is deleted again, with all credentials and a log entry', async () => {
    const { userId, username, token } = await shop.registerAndLogin();
    customerOf(userId, { closed: true });
    const found = { userId, username, drift: 'user-deleted' };
    expect(await reconcile({ dryRun: true })).toEqual([{ ...found, outcome: 'found' }]);
    expect(await isThere(userId)).toBe(true);
    const answer = await shop.call(identity.reconcileUsers, { limit: 1 });
    expect(answer).toEqual({ checked: 1, next: userId, findings: [{ ...found, outcome: 'mended' }] });
    expect(shapeOf(answer)).toEqual(shapeOf(sampleOf(identity.reconcileUsers).answer));
    expect(await isThere(userId)).toBe(false);
    await expect(shop.check('session', token)).rejects.toMatchObject({ code: 'credential-refused' });
    const revoked = await shop.sql.query(`SELECT 1 FROM revocations WHERE kind = 'user' AND id = $1`, [userId]);
    expect(revoked.rowCount).toBe(1);
    expect(await reconcile()).toEqual([]);
  });

  it('the customer of a missing user is closed, or left and reported with its open orders', async () => {
    const [idle, waiting] = [randomUUID(), randomUUID()];
    customerOf(idle);
    const customer = customerOf(waiting, { openOrders: [71, 72], refusedAttempt: 3_000_000 });
    const raised = await shop.call(identity.raiseNumbers, {});
    expect(raised.raised).toMatchObject([{ sequence: 'deletion_attempts', to: 4_000_001 }]);
    expect(shapeOf(raised)).toEqual(shapeOf(sampleOf(identity.raiseNumbers).answer));
    const left = { userId: waiting, drift: 'user-missing', outcome: 'left', openOrders: [71, 72] };
    const all = await reconcile();
    expect(all).toHaveLength(2);
    expect(all).toEqual(expect.arrayContaining([{ userId: idle, drift: 'user-missing', outcome: 'mended' }, left]));
    expect(customers.get(idle)?.closed).toBe(true);
    expect(await reconcile()).toEqual([left]);
    customer.openOrders = [];
    expect(await reconcile()).toEqual([{ userId: waiting, drift: 'user-missing', outcome: 'mended' }]);
    expect(await reconcile()).toEqual([]);
  });

  it('a user who is being deleted is no drift (slow)', async () => {
    const { userId } = await shop.registerAndLogin();
    customerOf(userId, { closed: true });
    await shop.sql.query(
      `INSERT INTO user_deletions (user_id, attempt, leased_until)
       VALUES ($1, nextval('deletion_attempts'), now() + interval '1 second')`,
      [userId],
    );
    expect(await reconcile()).toEqual([]);
    await until(async () => !(await isThere(userId)));
  });

  it('a customer that the store cannot close now is reported as unfinished, and closed by the next run', async () => {
    const userId = randomUUID();
    customerOf(userId);
    isStoreDown = true;
    expect(await reconcile()).toEqual([{ userId, drift: 'user-missing', outcome: 'unfinished' }]);
    isStoreDown = false;
    expect(await reconcile()).toEqual([{ userId, drift: 'user-missing', outcome: 'mended' }]);
  });

  it('there is no drift while users register, order and are deleted (slow)', async () => {
    let stopped = false;
    const traffic = Array.from({ length: 4 }, async () => {
      while (!stopped) {
        const { userId, username, principal } = await shop.registerAndLogin();
        customerOf(userId);
        await shop.call(identity.deleteUser, { username }, principal);
      }
    });
    const found: UserFinding[] = [];
    for (let round = 0; round < 60; round++) found.push(...(await reconcile({ limit: 100 })));
    stopped = true;
    await Promise.all(traffic);
    expect(found).toEqual([]);
  });
});
