import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import type { CreatedApiKey, NewApiKey } from '@plant-shop/contracts/identity.api-keys';
import type { Principal } from '@plant-shop/platform/rpc/context';
import { until } from '@plant-shop/testing/until';
import { Follower } from '../credentials/follower.spec.fixture.js';
import { manager, TestIdentity } from '../identity.spec.fixture.js';

const day = 86_400_000;

async function inSequence<T>(calls: readonly (() => Promise<T>)[]): Promise<T[]> {
  const answers: T[] = [];
  for (const call of calls) answers.push(await call());
  return answers;
}

describe('rotating an API key', () => {
  let shop: TestIdentity;
  beforeAll(async () => {
    shop = await TestIdentity.start();
    await shop.addReplica();
  });
  afterAll(() => shop.stop());

  const create = (username: string, principal: Principal, apiKey: Partial<NewApiKey> = {}): Promise<CreatedApiKey> =>
    shop.call(identity.createApiKey, { username, apiKey: { name: 'till 4', ...apiKey } }, principal);
  const rotate = (username: string, { id }: { id: string }, principal: Principal, graceSeconds?: number) => {
    const rotation = graceSeconds === undefined ? {} : { graceSeconds };
    return shop.call(identity.rotateApiKey, { username, apiKeyId: id, rotation }, principal);
  };
  const expire = (key: { id: string }): Promise<unknown> =>
    shop.sql.query('UPDATE api_keys SET expires_at = now() WHERE id = $1', [key.id]);
  const isRefused = async (key: string): Promise<boolean> => {
    try {
      await shop.check('apiKey', key);
      return false;
    } catch (error) {
      expect(error).toMatchObject({ code: 'credential-refused' });
      return true;
    }
  };

  it('creates a successor with the same name and permissions, and both keys work for a day', async () => {
    const { username, userId, principal } = await shop.registerAndLogin();
    const old = await create(username, principal, { permissions: ['webhooks'] });
    const successor = await rotate(username, old, principal);
    expect(successor).toEqual({
      id: expect.not.stringContaining(old.id),
      name: 'till 4',
      key: expect.stringMatching(/^pk_[\w-]{43}$/),
      prefix: successor.key.slice(0, 10),
      permissions: ['webhooks'],
      createdAt: expect.any(String),
    });
    for (const { key, id } of [old, successor]) {
      await expect(shop.check('apiKey', key)).resolves.toMatchObject({ id, userId, permissions: ['webhooks'] });
    }
    const listed = await shop.call(identity.listApiKeys, { username }, principal);
    expect(listed.map(({ id }) => id)).toEqual([successor.id, old.id]);
    const left = Date.parse(listed[1]!.expiresAt!) - Date.now();
    expect(left).toBeGreaterThan(day - 10_000);
    expect(left).toBeLessThanOrEqual(day);
    await expire(old);
    expect(await isRefused(old.key)).toBe(true);
    expect(await isRefused(successor.key)).toBe(false);
  });

  it('gives the successor only permissions that the user still has, and needs all of them', async () => {
    const { username } = await shop.register();
    const { userId } = await shop.call(identity.resolveUsername, { username });
    await shop.sql.query(`UPDATE users SET role = 'staff' WHERE user_id = $1`, [userId]);
    const old = await create(username, manager, { permissions: ['write:plants', 'webhooks'] });
    const narrow = { ...manager, permissions: ['write:users', 'read:orders', 'webhooks'] };
    await expect(rotate(username, old, narrow)).rejects.toMatchObject({ code: 'forbidden' });
    await shop.sql.query(`UPDATE users SET role = 'customer' WHERE user_id = $1`, [userId]);
    const { id, key } = await rotate(username, old, narrow);
    await shop.sql.query(`UPDATE users SET role = 'staff' WHERE user_id = $1`, [userId]);
    await expect(shop.check('apiKey', key)).resolves.toMatchObject({ id, permissions: ['webhooks'] });
  });

  it('gives the successor the lifetime of the key, and never extends the key', async () => {
    const { username, principal } = await shop.registerAndLogin();
    const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
    const old = await create(username, principal, { expiresAt: inAnHour });
    await shop.sql.query(`UPDATE api_keys SET expires_at = expires_at - interval '30 minutes' WHERE id = $1`, [old.id]);
    const successor = await rotate(username, old, principal, 2_592_000);
    expect(Math.abs(Date.parse(successor.expiresAt!) - Date.now() - 3_600_000)).toBeLessThan(10_000);
    const { expiresAt } = await shop.check('apiKey', old.key);
    expect(Date.parse(expiresAt!)).toBe(Date.parse(inAnHour) - 1_800_000);
  });

  it('reaches followers within a second, and they accept the old key for exactly the grace period (slow)', async () => {
    const { username, principal } = await shop.registerAndLogin();
    const old = await create(username, principal);
    const follower = await Follower.start(shop);
    try {
      expect((await follower.check('apiKey', old.key)).expiresAt).toBeUndefined();
      const rotated = Date.now();
      await rotate(username, old, principal, 2);
      await until(async () => (await follower.check('apiKey', old.key)).expiresAt !== undefined, 1_000);
      const end = Date.parse((await follower.check('apiKey', old.key)).expiresAt!);
      expect(end - rotated).toBeGreaterThanOrEqual(2_000);
      // Expiry times are in whole milliseconds.
      await new Promise((resolve) => setTimeout(resolve, end - Date.now() + 20));
      await expect(follower.check('apiKey', old.key)).rejects.toMatchObject({ code: 'credential-refused' });
      // No entry ended the old key earlier, so streams opened with it stayed open.
      expect(follower.received.map(({ kind }) => kind)).toEqual(['userChanged']);
    } finally {
      await follower.stop();
    }
  });

  it('ends the old key at once without a grace period, and the log records its end', async () => {
    const { username, principal } = await shop.registerAndLogin();
    const old = await create(username, principal);
    const { position } = await shop.check('apiKey', old.key);
    const successor = await rotate(username, old, principal, 0);
    expect(await isRefused(old.key)).toBe(true);
    expect(await isRefused(successor.key)).toBe(false);
    const { entries } = await shop.call(identity.readRevocations, { after: position });
    expect(entries).toEqual([{ position: position + 1, kind: 'apiKey', id: old.id }]);
  });

  it('leaves at most two keys of a line live', async () => {
    const { username, principal } = await shop.registerAndLogin();
    const first = await create(username, principal);
    const second = await rotate(username, first, principal);
    for (const one of [first, second]) {
      await expect(rotate(username, one, principal)).rejects.toMatchObject({ code: 'too-many-api-keys' });
    }
    // A successor that was never installed is revoked and replaced.
    await shop.call(identity.revokeApiKey, { username, apiKeyId: second.id }, principal);
    const third = await rotate(username, first, principal);
    await expire(first);
    const fourth = await rotate(username, third, principal);
    const listed = await shop.call(identity.listApiKeys, { username }, principal);
    expect(listed.map(({ id }) => id)).toEqual([fourth.id, third.id]);
  });

  it('happens once when requested many times concurrently', async () => {
    const { username, principal } = await shop.registerAndLogin();
    const old = await create(username, principal);
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => rotate(username, old, principal)));
    const codes = results.map((one) => (one.status === 'fulfilled' ? 'ok' : (one.reason as { code: string }).code));
    expect(codes.sort()).toEqual(['ok', ...Array<string>(7).fill('too-many-api-keys')]);
    await expect(shop.call(identity.listApiKeys, { username }, principal)).resolves.toHaveLength(2);
  });

  it('is possible at the limit of 50 keys, and frees no place (slow)', async () => {
    const { username, principal } = await shop.registerAndLogin();
    // One after another: each locks the user, and fifty at once may wait for longer than a statement may take.
    const keys = await inSequence(Array.from({ length: 50 }, () => () => create(username, principal)));
    const [successor] = await inSequence(keys.map((key) => () => rotate(username, key, principal)));
    await expect(create(username, principal)).rejects.toMatchObject({ code: 'too-many-api-keys' });
    const revoke = (apiKeyId: string) => shop.call(identity.revokeApiKey, { username, apiKeyId }, principal);
    // A revoked successor frees no place, since the old key counts instead; revoking both frees one.
    await revoke(successor!.id);
    await expect(create(username, principal)).rejects.toMatchObject({ code: 'too-many-api-keys' });
    await revoke(keys[0]!.id);
    await create(username, principal);
  });

  it("is refused for a key that is revoked, expired, unknown or another user's", async () => {
    const { username, principal } = await shop.registerAndLogin();
    const [revoked, expired, theirs] = await Promise.all([1, 2, 3].map(() => create(username, principal)));
    await shop.call(identity.revokeApiKey, { username, apiKeyId: revoked!.id }, principal);
    await expire(expired!);
    const other = await shop.registerAndLogin();
    const unknown = { id: '00000000-0000-4000-8000-000000000001' };
    const rotations = [
      rotate(username, revoked!, principal),
      rotate(username, expired!, principal),
      rotate(username, unknown, principal),
      rotate(other.username, theirs!, manager),
    ];
    await Promise.all(rotations.map((one) => expect(one).rejects.toMatchObject({ code: 'api-key-not-found' })));
  });

  it('is refused with a grace period that is negative, fractional or longer than 30 days', async () => {
    const { username, principal } = await shop.registerAndLogin();
    const old = await create(username, principal);
    for (const graceSeconds of [-1, 2_592_001, 0.5, '60']) {
      await expect(rotate(username, old, principal, graceSeconds as number)).rejects.toMatchObject({
        code: 'invalid-input',
        details: { errors: [{ pointer: '/rotation/graceSeconds' }] },
      });
    }
    await rotate(username, old, principal, 2_592_000);
  });

  it('needs a session of the user or write:users: no key can create its own successor', async () => {
    const { username, principal } = await shop.registerAndLogin();
    const old = await create(username, principal);
    const stranger = (await shop.registerAndLogin()).principal;
    for (const one of [stranger, { ...principal, shown: ['apiKey'] }]) {
      await expect(rotate(username, old, one)).rejects.toMatchObject({ code: 'forbidden' });
    }
    await rotate(username, old, manager);
  });
});
