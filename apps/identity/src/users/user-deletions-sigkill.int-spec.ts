import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { store } from '@plant-shop/contracts/store';
import { fake, startFake } from '@plant-shop/service-testing/service';
import { startProxy, type TestProxy } from '@plant-shop/testing/proxy';
import { until } from '@plant-shop/testing/until';
import type { PoolClient } from 'pg';
import { testEnvironment, TestIdentity } from '../identity.spec.fixture.js';
import { type ReplicaProcess, startReplicaProcess } from '../process.spec.fixture.js';

/** The rules of the store's `closeCustomer`, for one customer. */
class Customer {
  openOrders: number[] = [];
  closed = false;
  readonly attempts: number[] = [];
  private refused = 0;
  /** Runs when the store receives the call, before it decides. */
  beforeDeciding: () => Promise<void> = async () => undefined;
  /** Runs after the store has decided, before it answers. */
  beforeAnswering: () => Promise<void> = async () => undefined;

  async close(attempt: number): Promise<{ openOrders: number[] }> {
    this.attempts.push(attempt);
    await this.beforeDeciding();
    expect(attempt).toBeGreaterThanOrEqual(this.refused);
    const openOrders = this.closed ? [] : [...this.openOrders];
    if (openOrders.length > 0) this.refused = attempt;
    else this.closed = true;
    await this.beforeAnswering();
    return { openOrders };
  }
}

type User = Awaited<ReturnType<TestIdentity['registerAndLogin']>>;

describe('deleting a user when the process is killed', () => {
  let shop: TestIdentity;
  let fakeStore: { stop: () => Promise<void> };
  let network: TestProxy;
  let customer: Customer;
  let user: User;
  let victim: ReplicaProcess;
  let client: PoolClient;
  const unanswered: Promise<void>[] = [];

  beforeAll(async () => {
    shop = await TestIdentity.withoutReplica();
    fakeStore = await startFake(shop.natsUrl, 'store', [
      fake(store.closeCustomer, ({ userId, attempt = 0 }) => {
        expect(userId).toBe(user.userId);
        return customer.close(attempt);
      }),
    ]);
  });
  afterAll(async () => {
    await Promise.all(unanswered);
    await fakeStore.stop();
    await shop.stop();
  });

  beforeEach(async () => {
    customer = new Customer();
    client = await shop.sql.connect();
    const { hostname: host, port } = new URL(shop.natsUrl);
    network = await startProxy({ host, port: Number(port) });
    const environment = { ...testEnvironment(shop.databaseUrl), NATS_URL: `nats://127.0.0.1:${network.port}` };
    victim = await startReplicaProcess(environment);
    user = await shop.registerAndLogin();
  });
  afterEach(async () => {
    await killVictim();
    client.release();
    await shop.stopReplicas();
  });

  /** Kills the replica and cuts its connections, which a stalled network would keep open. */
  const killVictim = async (): Promise<void> => {
    await victim.kill();
    await network.cut();
  };

  const count = async (text: string): Promise<number | null> => (await shop.sql.query(text, [user.userId])).rowCount;
  const isThere = async (): Promise<boolean> => (await count('SELECT 1 FROM users WHERE user_id = $1')) === 1;
  const isPending = async (): Promise<boolean> =>
    (await count('SELECT 1 FROM user_deletions WHERE user_id = $1')) === 1;
  const logEntries = (): Promise<number | null> => count(`SELECT 1 FROM revocations WHERE kind = 'user' AND id = $1`);

  /** Locks a row, so that changing it has to wait. */
  const lockRow = async (table: 'users' | 'user_deletions'): Promise<void> => {
    await client.query('BEGIN');
    await client.query(`SELECT 1 FROM ${table} WHERE user_id = $1 FOR UPDATE`, [user.userId]);
  };
  const unlockRow = (): Promise<unknown> => client.query('ROLLBACK');
  const victimWaitsForLock = (): Promise<void> => until(async () => (await shop.waitingForLocks()) === 1);

  /** Calls the victim, which never answers; `afterAll` checks that. */
  function requestDeletion(): void {
    const { username, principal } = user;
    const answer = shop.caller.call(identity.deleteUser, { username }, principal, 1_500);
    unanswered.push(expect(answer).rejects.toMatchObject({ code: 'outcome-unknown' }));
  }

  /** Starts two other replicas and lets the lease of the dead one expire. */
  async function otherReplicasResume(): Promise<void> {
    await Promise.all([shop.addReplica(), shop.addReplica()]);
    await shop.sql.query(`UPDATE user_deletions SET leased_until = now() - interval '1 second'`);
    await until(async () => !(await isPending()));
  }

  async function expectDeletedOnce(): Promise<void> {
    expect(await isThere()).toBe(false);
    expect(await logEntries()).toBe(1);
    expect(customer.closed).toBe(true);
    await expect(shop.check('session', user.token)).rejects.toMatchObject({ code: 'credential-refused' });
    await expect(shop.login(user.username, user.password)).rejects.toMatchObject({ code: 'login-failed' });
  }

  it('before the store is called: another replica completes it', async () => {
    await lockRow('users');
    requestDeletion();
    await victimWaitsForLock();
    network.stall();
    await unlockRow();
    await until(isPending);
    await killVictim();
    expect(customer.attempts).toEqual([]);
    await otherReplicasResume();
    await expectDeletedOnce();
    expect(customer.attempts).toHaveLength(1);
  });

  it('while the store decides: another replica completes it with a newer attempt', async () => {
    customer.beforeDeciding = async () => {
      customer.beforeDeciding = async () => undefined;
      await killVictim();
    };
    requestDeletion();
    await until(() => customer.closed);
    expect(await isThere()).toBe(true);
    await otherReplicasResume();
    await expectDeletedOnce();
    const [first = 0, second = 0, ...others] = customer.attempts;
    expect(second).toBeGreaterThan(first);
    expect(others).toEqual([]);
  });

  it('after the store has closed the customer, while the user is being removed: another replica completes it', async () => {
    customer.beforeAnswering = () => lockRow('users');
    requestDeletion();
    await until(() => customer.closed);
    await victimWaitsForLock();
    await killVictim();
    customer.beforeAnswering = async () => undefined;
    await unlockRow();
    expect(await isThere()).toBe(true);
    await otherReplicasResume();
    await expectDeletedOnce();
  });

  it('after the user is removed, before the answer: stays done and is logged once', async () => {
    customer.beforeAnswering = () => lockRow('users');
    requestDeletion();
    await until(() => customer.closed);
    await victimWaitsForLock();
    network.stall();
    await unlockRow();
    await until(async () => !(await isThere()));
    await killVictim();
    await otherReplicasResume();
    await expectDeletedOnce();
    expect(customer.attempts).toHaveLength(1);
    const { username, principal } = user;
    await expect(shop.call(identity.deleteUser, { username }, principal)).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('after the store has returned open orders, before the intent is dropped: another replica drops it', async () => {
    customer.openOrders = [7];
    customer.beforeAnswering = () => lockRow('user_deletions');
    requestDeletion();
    await until(() => customer.attempts.length === 1);
    await victimWaitsForLock();
    await killVictim();
    customer.beforeAnswering = async () => undefined;
    await unlockRow();
    expect(await isPending()).toBe(true);
    await otherReplicasResume();
    expect(customer.closed).toBe(false);
    expect(await isThere()).toBe(true);
    expect(await logEntries()).toBe(0);
    await expect(shop.check('session', user.token)).resolves.toMatchObject({ userId: user.userId });
  });
});
