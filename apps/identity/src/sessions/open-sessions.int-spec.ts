import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import type { OpenSession } from '@plant-shop/contracts/identity.sessions';
import { sampleOf, shapeOf } from '@plant-shop/testing/samples';
import { until } from '@plant-shop/testing/until';
import { digestOf, manager, TestIdentity } from '../identity.spec.fixture.js';

describe('the sessions that a user has open', () => {
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

  it('are listed newest first, with what they were begun with and when they were used, never with a token', async () => {
    const { username, password, token, inPerson } = await shop.enter();
    const userAgent = 'curl/8.9.1';
    const second = await shop.call(identity.login, { username, password, address: '192.0.2.1', userAgent });
    await shop.check('session', second.token);
    await until(async () => (await list(username, token))[0]?.lastUsedAt !== undefined);
    const [newest, oldest, ...others] = await list(username, token, inPerson);
    expect(others).toEqual([]);
    expect(newest).toMatchObject({ userAgent, kind: 'token', current: false, expiresAt: second.expiresAt });
    expect(oldest).toMatchObject({ current: true });
    expect(oldest).not.toHaveProperty('userAgent');
    const { answer } = sampleOf(identity.listSessions);
    expect(shapeOf(newest)).toEqual(shapeOf(answer[0]));
    expect(JSON.stringify([newest, oldest])).not.toContain(token);
    expect(JSON.stringify([newest, oldest])).not.toContain(second.token);
  });

  it('are not those that have expired', async () => {
    const { username, userId } = await shop.enter();
    await shop.sql.query('UPDATE sessions SET expires_at = now() WHERE user_id = $1', [userId]);
    await expect(list(username, undefined)).resolves.toEqual([]);
  });

  it('are a thousand at most: with one more the oldest ends, and the log tells', async () => {
    const { username, password, token, userId } = await shop.enter();
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

  it('end one by one, and the log tells', async () => {
    const { username, password, token, inPerson } = await shop.enter();
    const other = await shop.login(username, password);
    const { id } = await shop.check('session', other.token);
    const position = await head();
    await shop.call(identity.endSession, { username, sessionId: id }, inPerson);
    expect(await revocationsSince(position)).toEqual([`session:${id}`]);
    await expect(shop.check('session', other.token)).rejects.toMatchObject({ code: 'credential-refused' });
    await expect(shop.check('session', token)).resolves.toBeDefined();
    const again = shop.call(identity.endSession, { username, sessionId: id }, inPerson);
    await expect(again).rejects.toMatchObject({ code: 'session-not-found' });
  });

  it('end all at once, the own one as well, and no keys', async () => {
    const { username, password, token, inPerson } = await shop.enter();
    const { key } = await shop.call(identity.createApiKey, { username, apiKey: { name: 'till' } }, inPerson);
    const tokens = [token, (await shop.login(username, password)).token, (await shop.login(username, password)).token];
    await expect(shop.call(identity.endSessions, { username }, inPerson)).resolves.toEqual({ ended: 3 });
    for (const one of tokens) await expect(shop.check('session', one)).rejects.toMatchObject({ code: 'credential-refused' });
    await expect(shop.check('apiKey', key)).resolves.toBeDefined();
    await expect(list(username, undefined)).resolves.toEqual([]);
  });

  it('are nobody else’s business', async () => {
    const { username, token } = await shop.enter();
    const { id } = await shop.check('session', token);
    const other = await shop.enter();
    const byKey = { ...(await shop.enter()).inPerson, shown: ['apiKey'] };
    for (const principal of [other.inPerson, byKey]) {
      for (const call of [
        list(username, undefined, principal),
        shop.call(identity.endSession, { username, sessionId: id }, principal),
        shop.call(identity.endSessions, { username }, principal),
      ]) {
        await expect(call).rejects.toMatchObject({ code: 'forbidden' });
      }
    }
    // Not even by the name of a session that is somebody else's.
    const crossed = shop.call(identity.endSession, { username: other.username, sessionId: id }, other.inPerson);
    await expect(crossed).rejects.toMatchObject({ code: 'session-not-found' });
    await expect(shop.check('session', token)).resolves.toBeDefined();
  });
});
