import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { store } from '@plant-shop/contracts/store';
import { fake, startFake } from '@plant-shop/service-testing/service';
import { until } from '@plant-shop/testing/until';
import { testEnvironment, TestIdentity } from '../identity.spec.fixture.js';
import { type ReplicaProcess, startReplicaProcess } from '../process.spec.fixture.js';

type User = Awaited<ReturnType<TestIdentity['registerAndLogin']>>;

// A real process. The crash test of deletions simulates its end at every call, and platform's test of sagas kills processes at every step.
describe('deleting a user when the process is killed', () => {
  let shop: TestIdentity;
  let fakeStore: { stop: () => Promise<void> };
  let victim: ReplicaProcess;
  let user: User;
  let isClosed = false;
  const attempts: number[] = [];

  beforeAll(async () => {
    shop = await TestIdentity.withoutReplica();
    fakeStore = await startFake(shop.natsUrl, 'store', [
      fake(store.closeCustomer, async ({ userId, attempt = 0 }) => {
        expect(userId).toBe(user.userId);
        if (attempts.push(attempt) === 1) await victim.kill();
        isClosed = true;
        return { openOrders: [] };
      }),
    ]);
  });
  afterAll(async () => {
    await fakeStore.stop();
    await shop.stop();
  });

  beforeEach(async () => {
    victim = await startReplicaProcess({ ...testEnvironment(shop.databaseUrl), NATS_URL: shop.natsUrl });
    user = await shop.registerAndLogin();
  });
  afterEach(async () => {
    await victim.kill();
    await shop.stopReplicas();
  });

  const count = async (text: string): Promise<number | null> => (await shop.sql.query(text, [user.userId])).rowCount;
  const isThere = async (): Promise<boolean> => (await count('SELECT 1 FROM users WHERE user_id = $1')) === 1;
  const isPending = async (): Promise<boolean> =>
    (await count('SELECT 1 FROM user_deletions WHERE user_id = $1')) === 1;

  /** Starts two other replicas and lets the lease of the dead one expire. */
  async function otherReplicasResume(): Promise<void> {
    await Promise.all([shop.addReplica(), shop.addReplica()]);
    await shop.sql.query(`UPDATE user_deletions SET leased_until = now() - interval '1 second'`);
    await until(async () => !(await isPending()));
  }

  it('while the store decides: another replica completes it with a newer attempt', async () => {
    const { username, principal } = user;
    const answer = shop.caller.call(identity.deleteUser, { username }, principal, 1_500);
    const unanswered = expect(answer).rejects.toMatchObject({ code: 'outcome-unknown' });
    await until(() => isClosed);
    await unanswered;
    expect(await isThere()).toBe(true);
    await otherReplicasResume();
    expect(await isThere()).toBe(false);
    expect(await count(`SELECT 1 FROM revocations WHERE kind = 'user' AND id = $1`)).toBe(1);
    await expect(shop.check('session', user.token)).rejects.toMatchObject({ code: 'credential-refused' });
    await expect(shop.login(user.username, user.password)).rejects.toMatchObject({ code: 'login-failed' });
    const [first = 0, second = 0, ...others] = attempts;
    expect(second).toBeGreaterThan(first);
    expect(others).toEqual([]);
  });
});
