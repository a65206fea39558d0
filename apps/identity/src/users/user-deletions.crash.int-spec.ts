import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { store } from '@plant-shop/contracts/store';
import type { RpcClient } from '@plant-shop/platform/rpc/client';
import { atEveryPoint, type CrashTestbed, crashTestTimeoutMs, type Outcome } from '@plant-shop/service-testing/crash/every-point';
import { contextFor, fake, startFake } from '@plant-shop/service-testing/service';
import { until } from '@plant-shop/testing/until';
import { manager, TestIdentity } from '../identity.spec.fixture.js';

describe('a crash or lost message at any point of deleting a user', () => {
  let shop: TestIdentity;
  let testbed: CrashTestbed;
  let fakeStore: { stop: () => Promise<void> };
  /** State of the fake store: closed customers, and open orders by user. */
  const closed = new Set<string>();
  const openOrders = new Map<string, number[]>();
  /** The last attempt that the fake store refused, by user, and attempts that came after a newer one was refused. */
  const refused = new Map<string, number>();
  const stale: number[] = [];
  beforeAll(async () => {
    shop = await TestIdentity.withoutReplica();
    fakeStore = await startFake(shop.natsUrl, 'store', [
      fake(store.closeCustomer, ({ userId, attempt = 0 }) => {
        if (attempt < (refused.get(userId) ?? 0)) stale.push(attempt);
        const open = openOrders.get(userId) ?? [];
        if (open.length > 0) refused.set(userId, attempt);
        else closed.add(userId);
        return { openOrders: open };
      }),
    ]);
    testbed = await shop.startCrashTestbed();
  });
  afterAll(async () => {
    await testbed.stop();
    await fakeStore.stop();
    await shop.stop();
  });

  const count = async (text: string, userId: string): Promise<number> => (await shop.sql.query(text, [userId])).rowCount ?? 0;
  const isThere = async (userId: string) => (await count('SELECT 1 FROM users WHERE user_id = $1', userId)) === 1;
  const isPending = async (userId: string) => (await count('SELECT 1 FROM user_deletions WHERE user_id = $1', userId)) === 1;
  const remove = (client: RpcClient, username: string, withinMs = 10_000) =>
    client.call(identity.deleteUser, { username }, contextFor(manager, withinMs));

  const outcomeOf = (answer: Promise<unknown>): Promise<unknown> => answer.catch((error: unknown) => (error as { code: string }).code);

  /** Lets all leases expire and waits until the deletion is settled. */
  async function settle(userId: string): Promise<void> {
    await shop.sql.query(`UPDATE user_deletions SET leased_until = now() - interval '1 second'`);
    await until(async () => !(await isPending(userId)));
  }

  async function expectConsistent(outcome: Outcome<unknown>, userId: string): Promise<void> {
    if (outcome.kind === 'answered') expect(await isThere(userId)).toBe(false);
    if (outcome.kind !== 'refused') return;
    expect(['unavailable', 'outcome-unknown']).toContain(outcome.code);
    // `unavailable` means that nothing happened, and that nothing will happen later.
    if (outcome.code === 'unavailable') expect([await isThere(userId), await isPending(userId)]).toEqual([true, false]);
  }

  it('the user is deleted in the end, in identity and store, with one revocation', async () => {
    await atEveryPoint(testbed, {
      name: 'delete a user',
      minCalls: 12,
      given: () => shop.registerAndLogin(),
      when: (victim, { username }, withinMs) => remove(victim.caller, username, withinMs),
      immediately: ({ userId }, outcome) => expectConsistent(outcome, userId),
      eventually: async ({ username, userId, token }) => {
        const again = await outcomeOf(remove(shop.caller.client, username));
        expect([{ username }, 'user-not-found']).toContainEqual(again);
        await settle(userId);
        expect([await isThere(userId), closed.has(userId)]).toEqual([false, true]);
        expect(await count(`SELECT 1 FROM revocations WHERE kind = 'user' AND id = $1`, userId)).toBe(1);
        await expect(shop.check('session', token)).rejects.toMatchObject({ code: 'credential-refused' });
      },
    });
  }, crashTestTimeoutMs);

  it('a user with open orders stays and can log in to cancel them', async () => {
    await atEveryPoint(testbed, {
      name: 'delete a user who must stay',
      minCalls: 12,
      given: async () => {
        const user = await shop.registerAndLogin();
        openOrders.set(user.userId, [5]);
        return user;
      },
      when: async (victim, { username }, withinMs) => {
        const outcome = await outcomeOf(remove(victim.caller, username, withinMs));
        expect(['user-has-open-orders', 'unavailable', 'outcome-unknown']).toContain(outcome);
      },
      eventually: async ({ username, password, userId, token }) => {
        const refusal = { code: 'user-has-open-orders', details: { orders: [5] } };
        await expect(remove(shop.caller.client, username)).rejects.toMatchObject(refusal);
        await settle(userId);
        expect(stale).toEqual([]);
        expect([await isThere(userId), closed.has(userId)]).toEqual([true, false]);
        expect(await count(`SELECT 1 FROM revocations WHERE kind = 'user' AND id = $1`, userId)).toBe(0);
        await expect(shop.check('session', token)).resolves.toMatchObject({ userId });
        await expect(shop.login(username, password)).resolves.toMatchObject({ token: expect.any(String) });
      },
    });
  }, crashTestTimeoutMs);
});
