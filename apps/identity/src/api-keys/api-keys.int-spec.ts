import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import type { CreatedApiKey, NewApiKey } from '@plant-shop/contracts/identity.api-keys';
import type { Principal } from '@plant-shop/platform/rpc/context';
import { digestOf, manager, TestIdentity } from '../identity.spec.fixture.js';

describe('API keys', () => {
  let shop: TestIdentity;
  beforeAll(async () => {
    shop = await TestIdentity.start({}, { usesIntervalMs: 50 });
  });
  afterAll(() => shop.stop());

  const create = (username: string, principal: Principal, apiKey: Partial<NewApiKey> = {}): Promise<CreatedApiKey> =>
    shop.call(identity.createApiKey, { username, apiKey: { name: 'a key', ...apiKey } }, principal);

  const setInTable = (key: CreatedApiKey, change: string): Promise<unknown> =>
    shop.sql.query(`UPDATE api_keys SET ${change} WHERE id = $1`, [key.id]);

  it("have a customer's permissions by default, are shown once and identify the user", async () => {
    const { username, userId, principal } = await shop.registerAndLogin();
    const created = await create(username, principal, { name: 'till 4' });
    expect(created).toEqual({
      id: expect.any(String),
      name: 'till 4',
      key: expect.stringMatching(/^pk_[\w-]{43}$/),
      prefix: created.key.slice(0, 10),
      permissions: ['read:plants', 'write:orders', 'webhooks'],
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    const [listed] = await shop.call(identity.listApiKeys, { username }, principal);
    expect({ ...listed, key: created.key }).toEqual(created);
    expect(listed).not.toHaveProperty('key');
    await expect(shop.check('apiKey', created.key)).resolves.toMatchObject({
      kind: 'apiKey',
      id: created.id,
      userId,
      permissions: ['read:plants', 'write:orders', 'webhooks'],
    });
    const { rows } = await shop.sql.query<{ row: string }>('SELECT k::text AS row FROM api_keys k WHERE id = $1', [
      created.id,
    ]);
    expect(rows[0]!.row).not.toContain(created.key);
  });

  it('have only the requested permissions, and never more than their user', async () => {
    const { username, principal } = await shop.registerAndLogin();
    const created = await create(username, principal, { permissions: ['webhooks'] });
    await expect(shop.check('apiKey', created.key)).resolves.toMatchObject({ permissions: ['webhooks'] });
    await expect(create(username, principal, { permissions: ['webhooks', 'write:plants'] })).rejects.toMatchObject({
      code: 'forbidden',
      message: expect.stringContaining('write:plants'),
    });
    await expect(create(username, manager, { permissions: ['write:users'] })).rejects.toMatchObject({
      code: 'forbidden',
    });
  });

  it('are refused with unknown, repeated or no permissions, or with an expiry in the past', async () => {
    const { username, principal } = await shop.registerAndLogin();
    for (const permissions of [['fly'], ['webhooks', 'webhooks'], []]) {
      await expect(create(username, principal, { permissions: permissions as never })).rejects.toMatchObject({
        code: 'invalid-input',
        details: { errors: [{ pointer: '/apiKey/permissions' }] },
      });
    }
    await expect(create(username, principal, { expiresAt: '2020-01-01T00:00:00Z' })).rejects.toMatchObject({
      code: 'invalid-input',
      details: { errors: [{ pointer: '/apiKey/expiresAt' }] },
    });
  });

  it('lose permissions that their user loses', async () => {
    const { username, userId } = await shop.registerAndLogin();
    await shop.sql.query(`UPDATE users SET role = 'staff' WHERE user_id = $1`, [userId]);
    const { key } = await create(username, manager, { permissions: ['write:plants', 'webhooks'] });
    await expect(shop.check('apiKey', key)).resolves.toMatchObject({ permissions: ['write:plants', 'webhooks'] });
    await shop.sql.query(`UPDATE users SET role = 'customer' WHERE user_id = $1`, [userId]);
    await expect(shop.check('apiKey', key)).resolves.toMatchObject({ permissions: ['webhooks'] });
  });

  it('end when they are revoked, which is logged, or when they expire', async () => {
    const { username, principal } = await shop.registerAndLogin();
    const revoked = await create(username, principal);
    const { position } = await shop.check('apiKey', revoked.key);
    const revoke = { username, apiKeyId: revoked.id };
    await expect(shop.call(identity.revokeApiKey, revoke, principal)).resolves.toMatchObject({ id: revoked.id });
    await expect(shop.check('apiKey', revoked.key)).rejects.toMatchObject({ code: 'credential-refused' });
    const { entries } = await shop.call(identity.readRevocations, { after: position });
    expect(entries).toContainEqual({ position: expect.any(Number), kind: 'apiKey', id: revoked.id });
    await expect(shop.call(identity.revokeApiKey, revoke, principal)).rejects.toMatchObject({
      code: 'api-key-not-found',
    });

    const expiring = await create(username, principal, { expiresAt: new Date(Date.now() + 60_000).toISOString() });
    await expect(shop.check('apiKey', expiring.key)).resolves.toMatchObject({ expiresAt: expiring.expiresAt });
    await setInTable(expiring, 'expires_at = now()');
    await expect(shop.check('apiKey', expiring.key)).rejects.toMatchObject({ code: 'credential-refused' });
    await expect(shop.call(identity.revokeApiKey, { username, apiKeyId: expiring.id }, principal)).rejects.toMatchObject({ code: 'api-key-not-found' });
    await expect(shop.call(identity.listApiKeys, { username }, principal)).resolves.toEqual([]);
  });

  it('can be managed only with a session of their user or with write:users', async () => {
    const { username, principal } = await shop.registerAndLogin();
    const { id, key } = await create(username, manager);
    const stranger = (await shop.registerAndLogin()).principal;
    for (const one of [stranger, { ...principal, shown: ['apiKey'] }]) {
      await expect(create(username, one)).rejects.toMatchObject({ code: 'forbidden' });
      await expect(shop.call(identity.listApiKeys, { username }, one)).rejects.toMatchObject({ code: 'forbidden' });
      await expect(shop.call(identity.revokeApiKey, { username, apiKeyId: id }, one)).rejects.toMatchObject({
        code: 'forbidden',
      });
    }
    const theirs = { username: (await shop.register()).username, apiKeyId: id };
    await expect(shop.call(identity.revokeApiKey, theirs, manager)).rejects.toMatchObject({
      code: 'api-key-not-found',
    });
    await expect(shop.check('apiKey', key)).resolves.toMatchObject({ id });
  });

  it('are limited to 50 live ones, also when many are created concurrently (slow)', async () => {
    const { username, principal } = await shop.registerAndLogin();
    const results: PromiseSettledResult<CreatedApiKey>[] = [];
    const createTen = async (): Promise<void> => {
      for (let n = 0; n < 10; n++) results.push(...(await Promise.allSettled([create(username, principal)])));
    };
    // Six at a time: each waits for the others, and 60 could wait longer than a statement may.
    await Promise.all(Array.from({ length: 6 }, createTen));
    const created = results.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    expect(created).toHaveLength(50);
    expect(
      results.flatMap((one) => (one.status === 'rejected' ? [(one.reason as { code: string }).code] : [])),
    ).toEqual(Array(10).fill('too-many-api-keys'));
    await shop.call(identity.revokeApiKey, { username, apiKeyId: created[0]!.id }, principal);
    await setInTable(created[1]!, 'expires_at = now()');
    await create(username, principal);
    await create(username, principal);
    await expect(create(username, principal)).rejects.toMatchObject({ code: 'too-many-api-keys' });
  });

  it('record their last use, at most once a minute', async () => {
    const { username, principal } = await shop.registerAndLogin();
    const created = await create(username, principal);
    const lastUsedAt = async (): Promise<string | undefined> =>
      (await shop.call(identity.listApiKeys, { username }, principal))[0]?.lastUsedAt;
    const lastUseAfter = async (before: string | undefined): Promise<string | undefined> => {
      for (let n = 0; n < 60 && (await lastUsedAt()) === before; n++)
        await new Promise((resolve) => setTimeout(resolve, 50));
      return lastUsedAt();
    };
    expect(await lastUsedAt()).toBeUndefined();
    await shop.check('apiKey', created.key);
    const first = await lastUseAfter(undefined);
    expect(Date.parse(first!)).toBeGreaterThan(Date.now() - 10_000);
    await shop.check('apiKey', created.key);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await lastUsedAt()).toBe(first);
    await setInTable(created, `last_used_at = now() - interval '61 seconds'`);
    const old = await lastUsedAt();
    await shop.check('apiKey', created.key);
    expect(Date.parse((await lastUseAfter(old))!)).toBeGreaterThan(Date.parse(old!) + 60_000);
  });

  it('are refused when unknown', async () => {
    await expect(shop.check('apiKey', 'no such key')).rejects.toMatchObject({ code: 'credential-refused' });
    await expect(
      shop.call(identity.checkCredential, { kind: 'apiKey', digest: `${digestOf('x')}=` }),
    ).rejects.toMatchObject({ code: 'invalid-input' });
  });
});
