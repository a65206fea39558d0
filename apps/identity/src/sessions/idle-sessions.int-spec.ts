import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { expectPage } from '@plant-shop/testing/browser';
import { until } from '@plant-shop/testing/until';
import { manager, testSecret } from '../identity.spec.fixture.js';
import { purposeOf } from '../oauth/adapters.js';
import { TestOAuth } from '../oauth/oauth.spec.fixture.js';
import { identityCipher } from '../secrets/secrets.js';

describe('sessions and refresh tokens that nobody uses', () => {
  let oauth: TestOAuth;
  beforeAll(async () => {
    oauth = await TestOAuth.start({ staffSessionIdleHours: 12, sessionIdleHours: 20 }, { usesIntervalMs: 50 });
  });
  afterAll(() => oauth.shop.stop());

  const person = async (role: 'customer' | 'staff' | 'admin') => {
    const one = await oauth.shop.registerAndLogin();
    if (role !== 'customer') await oauth.shop.call(identity.setUserRole, { username: one.username, assignment: { role } }, manager);
    // A use that is written later would count as a use then.
    await until(async () => (await lastUse(one.userId)) !== null);
    return one;
  };
  /** Lets the sessions of a user begin, and be used, so many hours earlier. They expire as before. */
  const age = ({ userId }: { readonly userId: string }, hours: number) =>
    oauth.shop.sql.query(`UPDATE sessions SET created_at = created_at - $2 * interval '1 hour', last_used_at = last_used_at - $2 * interval '1 hour' WHERE user_id = $1`, [userId, hours]);
  const lastUse = async (userId: string): Promise<Date | null> => (await oauth.shop.sql.query<{ at: Date | null }>('SELECT last_used_at AS at FROM sessions WHERE user_id = $1', [userId])).rows[0]?.at ?? null;

  it.each([
    ['customer', 19.9, 20.1],
    ['staff', 11.9, 12.1],
    ['admin', 11.9, 12.1],
  ] as const)('end, of a %s after more than %d hours', async (role, before, after) => {
    const one = await person(role);
    await age(one, before);
    await expect(oauth.shop.check('session', one.token)).resolves.toMatchObject({ kind: 'session' });
    await until(async () => Date.now() - Number(await lastUse(one.userId)) < 60_000);
    await age(one, after);
    await expect(oauth.shop.check('session', one.token)).rejects.toMatchObject({ code: 'credential-refused' });
    await expect(oauth.shop.call(identity.listSessions, { username: one.username }, manager)).resolves.toEqual([]);
  });

  it('go on while they are used, and are written at most once a minute', async () => {
    const one = await person('staff');
    for (const hours of [11, 11]) {
      await age(one, hours);
      await oauth.shop.sql.query(`UPDATE sessions SET expires_at = now() + interval '1 hour' WHERE user_id = $1`, [one.userId]);
      await oauth.shop.check('session', one.token);
      await until(async () => Date.now() - Number(await lastUse(one.userId)) < 60_000);
    }
    const written = await lastUse(one.userId);
    await oauth.shop.check('session', one.token);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await lastUse(one.userId)).toEqual(written);
  });

  it('end at the end of their lifetime, however often they are used', async () => {
    const one = await person('customer');
    await oauth.shop.check('session', one.token);
    await oauth.shop.sql.query('UPDATE sessions SET expires_at = now() WHERE user_id = $1', [one.userId]);
    await expect(oauth.shop.check('session', one.token)).rejects.toMatchObject({ code: 'credential-refused' });
  });

  it('end at once for a user who becomes staff', async () => {
    const one = await person('customer');
    await age(one, 13);
    await oauth.shop.call(identity.setUserRole, { username: one.username, assignment: { role: 'staff' } }, manager);
    await expect(oauth.shop.check('session', one.token)).rejects.toMatchObject({ code: 'credential-refused' });
  });

  it('end in a browser, which then has to log in', async () => {
    const one = await person('staff');
    const browser = oauth.browser();
    const login = expectPage(await browser.open('/account'));
    expect(expectPage(await browser.submit(login, 'action=login', { username: one.username, password: one.password })).text).toContain('Your account');
    await age(one, 12.1);
    expect(expectPage(await browser.open('/account')).text).toContain('Log in to the plant shop');
  });

  it('end as refresh tokens, too (slow)', async () => {
    const client = await oauth.register();
    const cipher = identityCipher([testSecret]);
    for (const [role, hours, works] of [['staff', 11.9, true], ['staff', 12.1, false], ['customer', 19.9, true], ['customer', 20.1, false]] as const) {
      const one = await person(role);
      const { refresh_token: token = '' } = await oauth.tokens(client, one);
      const { rows } = await oauth.shop.sql.query<{ id_hash: Buffer; payload: Buffer }>(`SELECT id_hash, payload FROM oauth_payloads WHERE model = 'RefreshToken' AND user_id = $1`, [one.userId]);
      const { id_hash: idHash, payload } = rows[0]!;
      const purpose = purposeOf('RefreshToken', idHash);
      const stored = JSON.parse(cipher.decrypt(payload, purpose)) as { iat: number };
      const older = cipher.encrypt(JSON.stringify({ ...stored, iat: stored.iat - hours * 3_600 }), purpose);
      await oauth.shop.sql.query('UPDATE oauth_payloads SET payload = $2 WHERE id_hash = $1', [idHash, older.bytes]);
      const refreshed = oauth.refresh(client, token);
      if (works) await expect(refreshed).resolves.toMatchObject({ token_type: 'bearer' });
      else await expect(refreshed).rejects.toMatchObject({ error: 'invalid_grant' });
    }
  });
});
