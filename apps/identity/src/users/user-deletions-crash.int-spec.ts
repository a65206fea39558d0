import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { store } from '@plant-shop/contracts/store';
import { startProxy, type TestProxy } from '@plant-shop/testing/proxy';
import { fake, startFake } from '@plant-shop/testing/service';
import { until } from '@plant-shop/testing/until';
import type { PoolClient } from 'pg';
import { testEnvironment, TestIdentity } from '../identity.spec.fixture.js';
import { type ReplicaProcess, startReplicaProcess } from '../process.spec.fixture.js';

/** The rules of the store's own `closeCustomer`, for one customer. */
class Customer {
  openOrders: number[] = [];
  closed = false;
  readonly attempts: number[] = [];
  private refused = 0;
  /** Runs when the store is asked, before it decides, and when it has decided, before it answers. */
  beforeDeciding: () => Promise<void> = async () => undefined;
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

type User = Awaited<ReturnType<TestIdentity['enter']>>;

describe('deleting a user, when the process that does it is killed', () => {
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
    user = await shop.enter();
  });
  afterEach(async () => {
    await die();
    client.release();
    await shop.stopReplicas();
  });

  /** With its connections, which a stalled network would keep for it. */
  const die = async (): Promise<void> => {
    await victim.kill();
    await network.cut();
  };

  const count = async (text: string): Promise<number | null> => (await shop.sql.query(text, [user.userId])).rowCount;
  const isThere = async (): Promise<boolean> => (await count('SELECT 1 FROM users WHERE user_id = $1')) === 1;
  const isPending = async (): Promise<boolean> =>
    (await count('SELECT 1 FROM user_deletions WHERE user_id = $1')) === 1;
  const told = (): Promise<number | null> => count(`SELECT 1 FROM revocations WHERE kind = 'user' AND id = $1`);

  /** Somebody else's lock on a row, which holds up whoever wants to change it. */
  const hold = async (table: 'users' | 'user_deletions'): Promise<void> => {
    await client.query('BEGIN');
    await client.query(`SELECT 1 FROM ${table} WHERE user_id = $1 FOR UPDATE`, [user.userId]);
  };
  const letGo = (): Promise<unknown> => client.query('ROLLBACK');
  const somebodyWaits = (): Promise<void> => until(async () => (await shop.waitingForLocks()) === 1);

  /** Asks the victim. Its caller never learns what became of it, which is looked at in the end. */
  function askForDeletion(): void {
    const { username, inPerson } = user;
    const answer = shop.caller.call(identity.deleteUser, { username }, inPerson, 1_500);
    unanswered.push(expect(answer).rejects.toMatchObject({ code: 'outcome-unknown' }));
  }

  /** Two other replicas start, or have been there all the time; the lease of the dead one ends. */
  async function otherReplicasGoOn(): Promise<void> {
    await Promise.all([shop.addReplica(), shop.addReplica()]);
    await shop.sql.query(`UPDATE user_deletions SET leased_until = now() - interval '1 second'`);
    await until(async () => !(await isPending()));
  }

  async function expectDeletedOnce(): Promise<void> {
    expect(await isThere()).toBe(false);
    expect(await told()).toBe(1);
    expect(customer.closed).toBe(true);
    await expect(shop.check('session', user.token)).rejects.toMatchObject({ code: 'credential-refused' });
    await expect(shop.login(user.username, user.password)).rejects.toMatchObject({ code: 'login-failed' });
  }

  it('before the store is asked: goes on', async () => {
    await hold('users');
    askForDeletion();
    await somebodyWaits();
    network.stall();
    await letGo();
    await until(isPending);
    await die();
    expect(customer.attempts).toEqual([]);
    await otherReplicasGoOn();
    await expectDeletedOnce();
    expect(customer.attempts).toHaveLength(1);
  });

  it('while the store decides: goes on, and the store is asked again by a newer attempt', async () => {
    customer.beforeDeciding = async () => {
      customer.beforeDeciding = async () => undefined;
      await die();
    };
    askForDeletion();
    await until(() => customer.closed);
    expect(await isThere()).toBe(true);
    await otherReplicasGoOn();
    await expectDeletedOnce();
    const [first = 0, second = 0, ...others] = customer.attempts;
    expect(second).toBeGreaterThan(first);
    expect(others).toEqual([]);
  });

  it('after the store has closed the customer, while the user is being removed: goes on', async () => {
    customer.beforeAnswering = () => hold('users');
    askForDeletion();
    await until(() => customer.closed);
    await somebodyWaits();
    await die();
    customer.beforeAnswering = async () => undefined;
    await letGo();
    expect(await isThere()).toBe(true);
    await otherReplicasGoOn();
    await expectDeletedOnce();
  });

  it('after the user is removed, before anybody is told: stays done, and is told by the log once', async () => {
    customer.beforeAnswering = () => hold('users');
    askForDeletion();
    await until(() => customer.closed);
    await somebodyWaits();
    network.stall();
    await letGo();
    await until(async () => !(await isThere()));
    await die();
    await otherReplicasGoOn();
    await expectDeletedOnce();
    expect(customer.attempts).toHaveLength(1);
    const { username, inPerson } = user;
    await expect(shop.call(identity.deleteUser, { username }, inPerson)).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('after the store has named open orders, before the intent is dropped: is refused anew', async () => {
    customer.openOrders = [7];
    customer.beforeAnswering = () => hold('user_deletions');
    askForDeletion();
    await until(() => customer.attempts.length === 1);
    await somebodyWaits();
    await die();
    customer.beforeAnswering = async () => undefined;
    await letGo();
    expect(await isPending()).toBe(true);
    await otherReplicasGoOn();
    expect(customer.closed).toBe(false);
    expect(await isThere()).toBe(true);
    expect(await told()).toBe(0);
    await expect(shop.check('session', user.token)).resolves.toMatchObject({ userId: user.userId });
  });
});
