import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { permissions } from '@plant-shop/contracts/permissions';
import type { Principal } from '@plant-shop/platform/rpc/context';
import { until } from '@plant-shop/testing/until';
import { newTotpSecret, secretOf, stepOf } from '../factors/codes.js';
import { hasFactor } from '../factors/factors.repository.js';
import { identityCipher } from '../secrets/secrets.js';
import { manager, testEnvironment, TestIdentity, testSecret } from '../identity.spec.fixture.js';
import { codeOf } from '../oauth/factors.spec.fixture.js';
import { runOperatorCommand } from '../process.spec.fixture.js';

type Person = Awaited<ReturnType<TestIdentity['registerAndLogin']>>;

describe('second factors of users', () => {
  let shop: TestIdentity;
  beforeAll(async () => {
    shop = await TestIdentity.start();
  });
  afterAll(() => shop.stop());

  const person = async (role = 'customer'): Promise<Person> => {
    const one = await shop.registerAndLogin();
    await shop.sql.query('UPDATE users SET role = $2 WHERE user_id = $1', [one.userId, role]);
    return role === 'customer' ? one : { ...one, principal: { ...one.principal, permissions } };
  };
  /** Adds an app to an account. @returns its id and secret */
  const addApp = async ({ userId }: Person, secrets = [testSecret]): Promise<{ id: string; secret: string }> => {
    const [id, secret] = [randomUUID(), newTotpSecret()];
    const { bytes, keyId } = identityCipher(secrets).encrypt(secret, secretOf(id));
    await shop.sql.query(`INSERT INTO factors (id, user_id, kind, name, secret, key_id, last_step) VALUES ($1, $2, 'totp', 'Phone', $3, $4, 0)`, [id, userId, bytes, keyId]);
    return { id, secret };
  };
  const has = async ({ userId }: Person): Promise<boolean> => (await shop.sql.query<{ has: boolean }>(`SELECT ${hasFactor('$1::uuid')} AS has`, [userId])).rows[0]!.has;
  const audited = async (operation: string, target: string): Promise<number | null> =>
    (await shop.sql.query('SELECT 1 FROM audit_log WHERE operation = $1 AND target = $2', [operation, target])).rowCount;
  const remove = (by: Principal, { username }: Person, factorId: string, more: { currentPassword?: string; currentCode?: string } = {}): Promise<unknown> =>
    shop.call(identity.removeFactor, { username, factorId, ...more }, by);

  it('are listed for their user and for staff, without secrets', async () => {
    const one = await person();
    const { id } = await addApp(one);
    const expected = [{ id, kind: 'totp', name: 'Phone', createdAt: expect.any(String), locked: false }];
    expect(await shop.call(identity.listFactors, { username: one.username }, one.principal)).toEqual(expected);
    expect(await shop.call(identity.listFactors, { username: one.username }, manager)).toEqual(expected);
    const other = await person();
    await expect(shop.call(identity.listFactors, { username: one.username }, other.principal)).rejects.toMatchObject({ code: 'forbidden' });
  });

  describe('a sensitive change', () => {
    const change = ({ username, principal }: Person, more: { currentPassword?: string; currentCode?: string } = {}): Promise<unknown> =>
      shop.call(identity.createApiKey, { username, apiKey: { name: 'k', ...more } }, principal);

    it('needs a session that has proved the factor, or the password with a code', async () => {
      const one = await person();
      await expect(change(one)).resolves.toBeDefined();
      const { secret } = await addApp(one);
      const refusal = { code: 'recent-login-required' };
      await expect(change(one)).rejects.toMatchObject(refusal);
      await expect(change(one, { currentPassword: one.password })).rejects.toMatchObject({ ...refusal, message: expect.stringContaining('currentCode') });
      await expect(change(one, { currentCode: codeOf(secret) })).rejects.toMatchObject(refusal);
      await expect(change(one, { currentPassword: 'wrong-password', currentCode: codeOf(secret) })).rejects.toMatchObject(refusal);
      await expect(change(one, { currentPassword: one.password, currentCode: '000000' })).rejects.toMatchObject(refusal);
      await expect(change(one, { currentPassword: one.password, currentCode: codeOf(secret) })).resolves.toBeDefined();
      await expect(change(one, { currentPassword: one.password, currentCode: codeOf(secret) })).rejects.toMatchObject(refusal);
      await shop.sql.query('UPDATE sessions SET proved_factor = true WHERE user_id = $1', [one.userId]);
      await expect(change(one)).resolves.toBeDefined();
      await shop.sql.query(`UPDATE sessions SET created_at = now() - interval '11 minutes' WHERE user_id = $1`, [one.userId]);
      await expect(change(one)).rejects.toMatchObject(refusal);
      await shop.sql.query('UPDATE sessions SET confirmed_at = now() WHERE user_id = $1', [one.userId]);
      await expect(change(one)).resolves.toBeDefined();
    });
  });

  describe('are removed', () => {
    it('by their user, who has proved one, with their recovery codes', async () => {
      const one = await person();
      const { id } = await addApp(one);
      await shop.sql.query('INSERT INTO recovery_codes (user_id, code_hash) VALUES ($1, $2)', [one.userId, Buffer.alloc(32)]);
      await expect(remove(one.principal, one, id)).rejects.toMatchObject({ code: 'recent-login-required' });
      await shop.sql.query('UPDATE sessions SET proved_factor = true WHERE user_id = $1', [one.userId]);
      await expect(remove(one.principal, one, randomUUID())).rejects.toMatchObject({ code: 'factor-not-found' });
      expect(await remove(one.principal, one, id)).toEqual({ id, state: 'removed' });
      expect((await shop.sql.query('SELECT 1 FROM recovery_codes WHERE user_id = $1', [one.userId])).rowCount).toBe(0);
      expect(await audited('identity.removeFactor', `${one.userId}/${id}`)).toBe(1);
    });

    it('by an admin, from a customer at once', async () => {
      const [one, admin] = [await person(), await person('admin')];
      const { id } = await addApp(one);
      expect(await remove(admin.principal, one, id)).toEqual({ id, state: 'removed' });
      expect(await has(one)).toBe(false);
      expect(await audited('identity.removeFactor', `${one.userId}/${id}`)).toBe(1);
    });

    it('from an admin by two others, within 24 hours', async () => {
      const [one, first, second] = [await person('admin'), await person('admin'), await person('admin')];
      const { id } = await addApp(one);
      expect(await remove(first.principal, one, id)).toEqual({ id, state: 'waiting' });
      expect(await remove(first.principal, one, id)).toEqual({ id, state: 'waiting' });
      expect(await has(one)).toBe(true);
      expect(await audited('identity.askForFactorRemoval', `${one.userId}/${id}`)).toBe(2);
      await shop.sql.query(`UPDATE factor_removals SET expires_at = expires_at - interval '24 hours' WHERE factor_id = $1`, [id]);
      expect(await remove(second.principal, one, id)).toEqual({ id, state: 'waiting' });
      expect(await remove(first.principal, one, id)).toEqual({ id, state: 'removed' });
      expect(await has(one)).toBe(false);
    });

    it('not by a key of their own admin alone, or by a credential that lacks a permission of the user', async () => {
      const one = await person('admin');
      const { id } = await addApp(one);
      expect(await remove({ ...manager, subject: one.userId }, one, id)).toMatchObject({ state: 'waiting' });
      await expect(remove({ ...manager, permissions: ['write:users'] }, one, id)).rejects.toMatchObject({ code: 'forbidden' });
      const other = await person();
      await expect(remove(other.principal, one, id)).rejects.toMatchObject({ code: 'forbidden' });
      expect(await has(one)).toBe(true);
    });

    it('all, by a command, for the only admin (slow)', async () => {
      const one = await person('admin');
      const { id } = await addApp(one);
      expect(await runOperatorCommand('remove-factors', [one.username], testEnvironment(shop.databaseUrl))).toMatchObject({ code: 0, stdout: `${one.username} has no second factor now (removed: 1).\n` });
      expect(await has(one)).toBe(false);
      expect(await audited('identity.removeFactor', `${one.userId}/${id}`)).toBe(1);
      expect(await runOperatorCommand('remove-factors', ['nobody-at-all'], testEnvironment(shop.databaseUrl))).toMatchObject({ code: 1 });
    });
  });

  it('have secrets that are re-encrypted after IDENTITY_SECRET has changed', async () => {
    const one = await person();
    const { id, secret } = await addApp(one, ['a former secret of 32 characters or more']);
    const rotated = [testSecret, 'a former secret of 32 characters or more'];
    await shop.addReplica({ identitySecrets: rotated });
    const cipher = identityCipher([testSecret]);
    const stored = async (): Promise<{ secret: Buffer; keyId: string }> =>
      (await shop.sql.query<{ secret: Buffer; keyId: string }>('SELECT secret, key_id AS "keyId" FROM factors WHERE id = $1', [id])).rows[0]!;
    await until(async () => (await stored()).keyId === cipher.keyId);
    expect(cipher.decrypt((await stored()).secret, secretOf(id))).toBe(secret);
  });
});

describe('a code of an app', () => {
  it('is that of the standard (RFC 6238, appendix B), one step early or late', () => {
    // The ASCII text 12345678901234567890 in base32; the standard's codes, of which six digits are left.
    const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
    expect(stepOf(secret, '287082', 59_000)).toBe(1);
    expect(stepOf(secret, '081804', 1_111_111_109_000)).toBe(37_037_036);
    expect(stepOf(secret, '287082', 29_000)).toBe(1);
    expect(stepOf(secret, '287082', 89_000)).toBe(1);
    expect(stepOf(secret, '287082', 90_000)).toBeUndefined();
    expect(stepOf(secret, '28708', 59_000)).toBeUndefined();
  });
});
