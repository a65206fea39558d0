import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import type { OpenSession } from '@plant-shop/contracts/identity.sessions';
import { sampleOf, shapeOf } from '@plant-shop/service-testing/samples';
import { until } from '@plant-shop/testing/until';
import { digestOf, manager, TestIdentity } from '../identity.spec.fixture.js';

describe('open sessions of a user', () => {
  let shop: TestIdentity;
  beforeAll(async () => {
    shop = await TestIdentity.start({}, { usesIntervalMs: 50 });
  });
  afterAll(() => shop.stop());

  const list = (username: string, token: string | undefined, principal = manager): Promise<OpenSession[]> => {
    const ownSession = token === undefined ? {} : { ownSession: digestOf(token) };
    return shop.call(identity.listSessions, { username, ...ownSession }, principal);
  };
  const revocationsSince = async (after: number): Promise<string[]> =>
    (await shop.call(identity.readRevocations, { after })).entries.map(({ kind, id }) => `${kind}:${id}`);
  const head = async (): Promise<number> => (await shop.call(identity.readRevocations, { after: 0 })).head;

  it('are listed newest first, with user agent and last use, never with a token', async () => {
    const { username, password, token, principal } = await shop.registerAndLogin();
    const userAgent = 'curl/8.9.1';
    const second = await shop.call(identity.login, { username, password, address: '192.0.2.1', userAgent });
    await shop.check('session', second.token);
    await until(async () => (await list(username, token))[0]?.lastUsedAt !== undefined);
    const [newest, oldest, ...others] = await list(username, token, principal);
    expect(others).toEqual([]);
    expect(newest).toMatchObject({ userAgent, from: '192.0.2.0/24', kind: 'token', current: false, expiresAt: second.expiresAt });
    expect(oldest).toMatchObject({ current: true });
    expect(oldest).not.toHaveProperty('userAgent');
    const { answer } = sampleOf(identity.listSessions);
    expect(shapeOf(newest)).toEqual(shapeOf(answer[0]));
    expect(JSON.stringify([newest, oldest])).not.toContain(token);
    expect(JSON.stringify([newest, oldest])).not.toContain(second.token);
  });

  it('do not include expired ones', async () => {
    const { username, userId } = await shop.registerAndLogin();
    await shop.sql.query('UPDATE sessions SET expires_at = now() WHERE user_id = $1', [userId]);
    await expect(list(username, undefined)).resolves.toEqual([]);
  });

  it('are limited to 1,000: another one ends the oldest, which is logged', async () => {
    const { username, password, token, userId } = await shop.registerAndLogin();
    const { id: oldest } = await shop.check('session', token);
    await shop.sql.query(
      `INSERT INTO sessions (id, user_id, token_hash, expires_at, user_agent)
       SELECT gen_random_uuid(), $1, pg_catalog.sha256(n::text::bytea), now() + interval '1 day', repeat('€', 200)
       FROM generate_series(1, 999) n`,
      [userId],
    );
    await expect(list(username, token)).resolves.toHaveLength(1_000);
    const position = await head();
    const newest = await shop.login(username, password);
    await expect(list(username, newest.token)).resolves.toHaveLength(1_000);
    expect(await revocationsSince(position)).toEqual([`session:${oldest}`]);
    await expect(shop.check('session', token)).rejects.toMatchObject({ code: 'credential-refused' });
    await expect(shop.check('session', newest.token)).resolves.toBeDefined();
  });

  it('are limited to 1,000 also after concurrent logins, each of which opens one, even if the clock was set back', async () => {
    const { username, password, token, userId } = await shop.registerAndLogin();
    await shop.sql.query(
      `INSERT INTO sessions (id, user_id, token_hash, created_at, expires_at)
       SELECT gen_random_uuid(), $1, pg_catalog.sha256(('later ' || n)::bytea), now() + interval '10 minutes', now() + interval '1 day'
       FROM generate_series(1, 999) n`,
      [userId],
    );
    const logins = await Promise.all(Array.from({ length: 6 }, () => shop.login(username, password)));
    await expect(list(username, token)).resolves.toHaveLength(1_000);
    // Those that were open before would be ended first by the time: the last login is among those that remain.
    const open = await Promise.allSettled(logins.map((login) => shop.check('session', login.token)));
    expect(open.filter(({ status }) => status === 'fulfilled')).not.toEqual([]);
  });

  it('end one by one, which is logged', async () => {
    const { username, password, token, principal } = await shop.registerAndLogin();
    const other = await shop.login(username, password);
    const { id } = await shop.check('session', other.token);
    const position = await head();
    await shop.call(identity.endSession, { username, sessionId: id }, principal);
    expect(await revocationsSince(position)).toEqual([`session:${id}`]);
    await expect(shop.check('session', other.token)).rejects.toMatchObject({ code: 'credential-refused' });
    await expect(shop.check('session', token)).resolves.toBeDefined();
    const again = shop.call(identity.endSession, { username, sessionId: id }, principal);
    await expect(again).rejects.toMatchObject({ code: 'session-not-found' });
  });

  it("end all at once, including the caller's, while API keys continue", async () => {
    const { username, password, token, principal } = await shop.registerAndLogin();
    const { key } = await shop.call(identity.createApiKey, { username, apiKey: { name: 'till' } }, principal);
    const tokens = [token, (await shop.login(username, password)).token, (await shop.login(username, password)).token];
    await expect(shop.call(identity.endSessions, { username }, principal)).resolves.toEqual({ ended: 3 });
    for (const one of tokens) await expect(shop.check('session', one)).rejects.toMatchObject({ code: 'credential-refused' });
    await expect(shop.check('apiKey', key)).resolves.toBeDefined();
    await expect(list(username, undefined)).resolves.toEqual([]);
  });

  it('cannot be listed or ended by other users or with an API key', async () => {
    const { username, token } = await shop.registerAndLogin();
    const { id } = await shop.check('session', token);
    const other = await shop.registerAndLogin();
    const byKey = { ...(await shop.registerAndLogin()).principal, shown: ['apiKey'] };
    for (const principal of [other.principal, byKey]) {
      for (const call of [
        list(username, undefined, principal),
        shop.call(identity.endSession, { username, sessionId: id }, principal),
        shop.call(identity.endSessions, { username }, principal),
      ]) {
        await expect(call).rejects.toMatchObject({ code: 'forbidden' });
      }
    }
    // Nor with the session id of another user under the caller's own name.
    const crossed = shop.call(identity.endSession, { username: other.username, sessionId: id }, other.principal);
    await expect(crossed).rejects.toMatchObject({ code: 'session-not-found' });
    await expect(shop.check('session', token)).resolves.toBeDefined();
  });
});
