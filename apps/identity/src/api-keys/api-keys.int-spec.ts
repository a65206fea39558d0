import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import type { CreatedApiKey, NewApiKey } from '@plant-shop/contracts/identity.api-keys';
import type { Principal } from '@plant-shop/platform/rpc/principal';
import { digestOf, manager, TestIdentity } from '../identity.spec.fixture.js';

describe('API keys', () => {
  let shop: TestIdentity;
  beforeAll(async () => {
    shop = await TestIdentity.start({}, { usesIntervalMs: 50 });
  });
  afterAll(() => shop.stop());

  const create = (username: string, caller: Principal, apiKey: Partial<NewApiKey> = {}): Promise<CreatedApiKey> =>
    shop.call(identity.createApiKey, { username, apiKey: { name: 'a key', ...apiKey } }, caller);

  const setInTable = (key: CreatedApiKey, change: string): Promise<unknown> =>
    shop.sql.query(`UPDATE api_keys SET ${change} WHERE id = $1`, [key.id]);

  it('may what their user may, are shown once and lead to the user', async () => {
    const { username, userId, inPerson } = await shop.enter();
    const created = await create(username, inPerson, { name: 'till 4' });
    expect(created).toEqual({
      id: expect.any(String),
      name: 'till 4',
      key: expect.stringMatching(/^pk_[\w-]{43}$/),
      prefix: created.key.slice(0, 10),
      permissions: ['read:plants', 'write:orders', 'webhooks'],
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    const [listed] = await shop.call(identity.listApiKeys, { username }, inPerson);
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

  it('may less when less is asked, and never more than their user', async () => {
    const { username, inPerson } = await shop.enter();
    const created = await create(username, inPerson, { permissions: ['webhooks'] });
    await expect(shop.check('apiKey', created.key)).resolves.toMatchObject({ permissions: ['webhooks'] });
    await expect(create(username, inPerson, { permissions: ['webhooks', 'write:plants'] })).rejects.toMatchObject({
      code: 'forbidden',
      message: expect.stringContaining('write:plants'),
    });
    await expect(create(username, manager, { permissions: ['write:users'] })).rejects.toMatchObject({
      code: 'forbidden',
    });
  });

  it('refuse permissions that do not exist, are named twice or are none, and a time that is past', async () => {
    const { username, inPerson } = await shop.enter();
    for (const permissions of [['fly'], ['webhooks', 'webhooks'], []]) {
      await expect(create(username, inPerson, { permissions: permissions as never })).rejects.toMatchObject({
        code: 'invalid-input',
        details: { errors: [{ pointer: '/apiKey/permissions' }] },
      });
    }
    await expect(create(username, inPerson, { expiresAt: '2020-01-01T00:00:00Z' })).rejects.toMatchObject({
      code: 'invalid-input',
      details: { errors: [{ pointer: '/apiKey/expiresAt' }] },
    });
  });

  it('lose what their user may no longer do', async () => {
    const { username, userId, inPerson } = await shop.enter();
    await shop.sql.query(`UPDATE users SET role = 'staff' WHERE user_id = $1`, [userId]);
    const { key } = await create(username, inPerson, { permissions: ['write:plants', 'webhooks'] });
    await expect(shop.check('apiKey', key)).resolves.toMatchObject({ permissions: ['write:plants', 'webhooks'] });
    await shop.sql.query(`UPDATE users SET role = 'customer' WHERE user_id = $1`, [userId]);
    await expect(shop.check('apiKey', key)).resolves.toMatchObject({ permissions: ['webhooks'] });
  });

  it('end when they are revoked, which the log tells, or when they expire', async () => {
    const { username, inPerson } = await shop.enter();
    const revoked = await create(username, inPerson);
    const { position } = await shop.check('apiKey', revoked.key);
    const revoke = { username, apiKeyId: revoked.id };
    await expect(shop.call(identity.revokeApiKey, revoke, inPerson)).resolves.toMatchObject({ id: revoked.id });
    await expect(shop.check('apiKey', revoked.key)).rejects.toMatchObject({ code: 'credential-refused' });
    const { entries } = await shop.call(identity.readRevocations, { after: position });
    expect(entries).toContainEqual({ position: expect.any(Number), kind: 'apiKey', id: revoked.id });
    await expect(shop.call(identity.revokeApiKey, revoke, inPerson)).rejects.toMatchObject({
      code: 'api-key-not-found',
    });

    const expiring = await create(username, inPerson, { expiresAt: new Date(Date.now() + 60_000).toISOString() });
    await expect(shop.check('apiKey', expiring.key)).resolves.toMatchObject({ expiresAt: expiring.expiresAt });
    await setInTable(expiring, 'expires_at = now()');
    await expect(shop.check('apiKey', expiring.key)).rejects.toMatchObject({ code: 'credential-refused' });
    await expect(shop.call(identity.listApiKeys, { username }, inPerson)).resolves.toEqual([]);
  });

  it('are the business of the user in person and of managers only', async () => {
    const { username, inPerson } = await shop.enter();
    const { id, key } = await create(username, manager);
    const stranger = (await shop.enter()).inPerson;
    for (const caller of [stranger, { ...inPerson, shown: ['apiKey'] }]) {
      await expect(create(username, caller)).rejects.toMatchObject({ code: 'forbidden' });
      await expect(shop.call(identity.listApiKeys, { username }, caller)).rejects.toMatchObject({ code: 'forbidden' });
      await expect(shop.call(identity.revokeApiKey, { username, apiKeyId: id }, caller)).rejects.toMatchObject({
        code: 'forbidden',
      });
    }
    const theirs = { username: (await shop.register()).username, apiKeyId: id };
    await expect(shop.call(identity.revokeApiKey, theirs, manager)).rejects.toMatchObject({
      code: 'api-key-not-found',
    });
    await expect(shop.check('apiKey', key)).resolves.toMatchObject({ id });
  });

  it('are at most 50 that live, also when many are made at the same time', async () => {
    const { username, inPerson } = await shop.enter();
    const results = await Promise.allSettled(Array.from({ length: 60 }, () => create(username, inPerson)));
    const made = results.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    expect(made).toHaveLength(50);
    expect(
      results.flatMap((one) => (one.status === 'rejected' ? [(one.reason as { code: string }).code] : [])),
    ).toEqual(Array(10).fill('too-many-api-keys'));
    await shop.call(identity.revokeApiKey, { username, apiKeyId: made[0]!.id }, inPerson);
    await setInTable(made[1]!, 'expires_at = now()');
    await create(username, inPerson);
    await create(username, inPerson);
    await expect(create(username, inPerson)).rejects.toMatchObject({ code: 'too-many-api-keys' });
  });

  it('tell when they were used last, at most once a minute', async () => {
    const { username, inPerson } = await shop.enter();
    const created = await create(username, inPerson);
    const lastUsedAt = async (): Promise<string | undefined> =>
      (await shop.call(identity.listApiKeys, { username }, inPerson))[0]?.lastUsedAt;
    const usedOtherThan = async (before: string | undefined): Promise<string | undefined> => {
      for (let n = 0; n < 60 && (await lastUsedAt()) === before; n++)
        await new Promise((resolve) => setTimeout(resolve, 50));
      return lastUsedAt();
    };
    expect(await lastUsedAt()).toBeUndefined();
    await shop.check('apiKey', created.key);
    const first = await usedOtherThan(undefined);
    expect(Date.parse(first!)).toBeGreaterThan(Date.now() - 10_000);
    await shop.check('apiKey', created.key);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await lastUsedAt()).toBe(first);
    await setInTable(created, `last_used_at = now() - interval '61 seconds'`);
    const old = await lastUsedAt();
    await shop.check('apiKey', created.key);
    expect(Date.parse((await usedOtherThan(old))!)).toBeGreaterThan(Date.parse(old!) + 60_000);
  });

  it('are unknown when nobody has them', async () => {
    await expect(shop.check('apiKey', 'no such key')).rejects.toMatchObject({ code: 'credential-refused' });
    await expect(
      shop.call(identity.checkCredential, { kind: 'apiKey', digest: `${digestOf('x')}=` }),
    ).rejects.toMatchObject({ code: 'invalid-input' });
  });
});
