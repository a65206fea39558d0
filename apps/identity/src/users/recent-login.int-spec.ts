import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { permissions } from '@plant-shop/contracts/permissions';
import type { Principal } from '@plant-shop/platform/rpc/context';
import { manager, TestIdentity } from '../identity.spec.fixture.js';

type Person = Awaited<ReturnType<TestIdentity['registerAndLogin']>>;

const refusal = { code: 'recent-login-required' };
const newPassword = 'another-good-password';

describe('a sensitive change', () => {
  let shop: TestIdentity;
  beforeAll(async () => {
    shop = await TestIdentity.start();
  });
  afterAll(() => shop.stop());

  /** A user, with a session that is eleven minutes old. */
  const person = async (role = 'customer'): Promise<Person> => {
    const one = await shop.registerAndLogin();
    await shop.sql.query(`UPDATE sessions SET created_at = now() - interval '11 minutes' WHERE user_id = $1`, [one.userId]);
    await shop.sql.query('UPDATE users SET role = $2 WHERE user_id = $1', [one.userId, role]);
    return role === 'customer' ? one : { ...one, principal: { ...one.principal, permissions } };
  };
  const renew = (one: Person): Promise<unknown> => shop.sql.query('UPDATE sessions SET created_at = now() WHERE user_id = $1', [one.userId]);

  const ofOneself: [string, (by: Person, more: { currentPassword?: string }) => Promise<unknown>][] = [
    ['a password', ({ username, principal }, more) => shop.call(identity.updateUser, { username, user: { password: newPassword, ...more } }, principal)],
    ['an e-mail address', ({ username, principal }, more) => shop.call(identity.updateUser, { username, user: { email: 'new@shop.test', ...more } }, principal)],
    ['an API key', ({ username, principal }, more) => shop.call(identity.createApiKey, { username, apiKey: { name: 'k', ...more } }, principal)],
  ];
  const byStaff: typeof ofOneself = [
    ['an OAuth client', ({ principal }, more) =>
      shop.call(identity.createOAuthClient, { client: { name: 'c', grantTypes: ['authorization_code'], scopes: ['read:plants'], redirectUris: ['https://a.test/'], ...more } }, principal)],
    ['a role', async ({ principal }, more) => shop.call(identity.setUserRole, { username: (await shop.register()).username, assignment: { role: 'staff', ...more } }, principal)],
    ["another user's sessions", async ({ principal }, more) => shop.call(identity.endSessions, { username: (await shop.register()).username, ...more }, principal)],
    ["another user's session", async ({ principal }, more) => {
      const other = await shop.registerAndLogin();
      return shop.call(identity.endSession, { username: other.username, sessionId: other.principal.shownIds?.[0] ?? '', ...more }, principal);
    }],
  ];

  describe.each([...ofOneself, ...byStaff])('to %s', (what, change) => {
    const role = byStaff.some(([one]) => one === what) ? 'admin' : 'customer';

    it('needs a login of the last ten minutes or the current password (slow)', async () => {
      const one = await person(role);
      await expect(change(one, {})).rejects.toMatchObject(refusal);
      await expect(change(one, { currentPassword: 'wrong-password' })).rejects.toMatchObject(refusal);
      await expect(change(one, { currentPassword: one.password })).resolves.toBeDefined();
      const other = await person(role);
      await renew(other);
      await expect(change(other, {})).resolves.toBeDefined();
    });

    it('needs the current password with an access token', async () => {
      const one = await person('admin');
      await renew(one);
      const token: Principal = { subject: one.userId, permissions, shown: ['accessToken'], shownIds: ['plant-console'] };
      for (const principal of [token, { ...token, shown: ['apiKey', 'accessToken'], shownIds: ['00000000-0000-4000-8000-000000000001', 'plant-console'] }]) {
        await expect(change({ ...one, principal }, {})).rejects.toMatchObject(refusal);
      }
      await expect(change({ ...one, principal: token }, { currentPassword: one.password })).resolves.toBeDefined();
    });
  });

  it('does not accept the login of another user', async () => {
    const [one, other] = [await person(), await shop.registerAndLogin()];
    const principal = { ...one.principal, shownIds: other.principal.shownIds ?? [] };
    await expect(shop.call(identity.createApiKey, { username: one.username, apiKey: { name: 'k' } }, principal)).rejects.toMatchObject(refusal);
  });

  it('counts wrong passwords like failed logins (slow)', async () => {
    const one = await person();
    const guess = (currentPassword: string): Promise<unknown> =>
      shop.call(identity.createApiKey, { username: one.username, apiKey: { name: 'k', currentPassword } }, one.principal);
    for (let n = 0; n < 20; n++) await expect(guess(`guess ${n}`)).rejects.toMatchObject(refusal);
    await expect(guess(one.password)).rejects.toMatchObject({ code: 'too-many-logins' });
    // Nor can it be guessed as a password that would change nothing.
    const two = await person();
    const put = (password: string): Promise<unknown> => shop.call(identity.updateUser, { username: two.username, user: { password } }, two.principal);
    for (let n = 0; n < 20; n++) await expect(put(`guess ${n} of 20`)).rejects.toMatchObject(refusal);
    await expect(put(two.password)).rejects.toMatchObject({ code: 'too-many-logins' });
  });

  it('is nothing that leaves password and e-mail address as they are', async () => {
    const one = await person();
    await shop.call(identity.updateUser, { username: one.username, user: { email: 'same@shop.test' } }, manager);
    const user = { username: one.username, password: one.password, email: 'same@shop.test', firstName: 'Ada' };
    const changed = await shop.call(identity.updateUser, { username: one.username, user }, one.principal);
    expect(changed).toMatchObject({ firstName: 'Ada' });
    expect(changed).not.toHaveProperty('apiKeys');
    await expect(shop.check('session', one.token)).resolves.toBeDefined();
  });

  describe('of a password', () => {
    const withKey = async (): Promise<Person & { readonly key: string; readonly keyId: string }> => {
      const one = await shop.registerAndLogin();
      const { key, id } = await shop.call(identity.createApiKey, { username: one.username, apiKey: { name: 'integration' } }, one.principal);
      return { ...one, key, keyId: id };
    };

    it('ends the other sessions and lists the API keys, which stay', async () => {
      const one = await withKey();
      const { apiKeys } = await shop.call(identity.updateUser, { username: one.username, user: { password: newPassword } }, one.principal);
      expect(apiKeys).toMatchObject([{ id: one.keyId, name: 'integration' }]);
      await expect(shop.check('session', one.token)).rejects.toMatchObject({ code: 'credential-refused' });
      await expect(shop.check('apiKey', one.key)).resolves.toBeDefined();
    });

    it('ends them with `endApiKeys`', async () => {
      const one = await withKey();
      const { apiKeys } = await shop.call(identity.updateUser, { username: one.username, user: { password: newPassword, endApiKeys: true } }, one.principal);
      expect(apiKeys).toEqual([]);
      await expect(shop.check('apiKey', one.key)).rejects.toMatchObject({ code: 'credential-refused' });
      const { entries } = await shop.call(identity.readRevocations, { after: 0 });
      expect(entries).toContainEqual(expect.objectContaining({ kind: 'apiKey', id: one.keyId }));
    });
  });

  it.each([['the user', true], ['staff', false]])('of a compromised account, ends its sessions and API keys: by %s', async (_, isOwn) => {
    const one = await shop.registerAndLogin();
    const { key } = await shop.call(identity.createApiKey, { username: one.username, apiKey: { name: 'k' } }, one.principal);
    await shop.call(identity.endSessions, { username: one.username }, manager);
    await expect(shop.check('apiKey', key)).resolves.toBeDefined();
    await expect(shop.call(identity.endSessions, { username: one.username, compromised: 'true' }, isOwn ? one.principal : manager)).resolves.toBeDefined();
    await expect(shop.check('apiKey', key)).rejects.toMatchObject({ code: 'credential-refused' });
    await expect(shop.check('session', one.token)).rejects.toMatchObject({ code: 'credential-refused' });
  });
});
