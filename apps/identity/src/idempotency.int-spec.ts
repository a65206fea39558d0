import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { IdempotencyKey, type Principal } from '@plant-shop/platform/rpc/context';
import { manager, TestIdentity } from './identity.spec.fixture.js';
import { PasswordHasher } from './passwords/password-hasher.js';

const password = 'a-good-password';

describe('a request with an Idempotency-Key', () => {
  let shop: TestIdentity;
  beforeAll(async () => {
    shop = await TestIdentity.start();
    await shop.addReplica();
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });
  afterAll(() => shop.stop());

  const sendEightTimes = <T>(send: () => Promise<T>): Promise<T[]> => Promise.all(Array.from({ length: 8 }, send));
  const count = async (where: string): Promise<number> =>
    (await shop.sql.query<{ n: number }>(`SELECT count(*)::int AS n FROM users WHERE ${where}`)).rows[0]!.n;

  it('creates one API key for eight concurrent copies sent to two replicas, and returns it to all of them', async () => {
    const { username, principal } = await shop.registerAndLogin();
    for (const n of [1, 2, 3]) {
      const request = { username, apiKey: { name: `key ${n}` } };
      const responses = await sendEightTimes(() => shop.callOnce(identity.createApiKey, request, `copies-${n}`, principal));
      expect(responses.filter(({ replayed }) => !replayed)).toHaveLength(1);
      expect(new Set(responses.map(({ answer }) => JSON.stringify(answer))).size).toBe(1);
      await expect(shop.check('apiKey', responses[0]!.answer.key)).resolves.toMatchObject({ id: responses[0]!.answer.id });
    }
    await expect(shop.call(identity.listApiKeys, { username }, principal)).resolves.toHaveLength(3);
  });

  it('creates one successor of an API key', async () => {
    const { username, principal } = await shop.registerAndLogin();
    const { id } = await shop.call(identity.createApiKey, { username, apiKey: { name: 'k' } }, principal);
    const request = { username, apiKeyId: id, rotation: { graceSeconds: 60 } };
    const responses = await sendEightTimes(() => shop.callOnce(identity.rotateApiKey, request, 'rotation', principal));
    expect(responses.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(new Set(responses.map(({ answer }) => answer.key)).size).toBe(1);
  });

  it('registers one user and returns the same profile and version to every copy', async () => {
    for (const n of [1, 2, 3]) {
      const user = { username: `copy-${n}`, password, firstName: 'Tia', email: 'tia@shop.test' };
      const responses = await sendEightTimes(() => shop.callOnce(identity.createUser, { user }, `user-${n}`, manager));
      expect(responses.filter(({ replayed }) => !replayed)).toHaveLength(1);
      const answer = { id: responses[0]!.answer.id, username: user.username, firstName: 'Tia', email: 'tia@shop.test' };
      for (const response of responses) expect(response).toMatchObject({ answer, version: await shop.versionOf(user.username) });
    }
    expect(await count(`username LIKE 'copy-%'`)).toBe(3);
  });

  it('registers one list of users', async () => {
    const users = Array.from({ length: 4 }, (_, n) => ({ username: `listed-${n}`, password }));
    const responses = await sendEightTimes(() => shop.callOnce(identity.createUsers, { users }, 'list', manager));
    expect(responses.filter(({ replayed }) => !replayed)).toHaveLength(1);
    for (const { answer } of responses) expect(answer).toEqual(responses[0]!.answer);
    expect(responses[0]!.answer.map(({ username }) => username)).toEqual(users.map(({ username }) => username));
  });

  it('hashes no password when the answer is saved, even if the user was changed or deleted since', async () => {
    const user = { username: 'hashed-once', password };
    const users = [{ username: 'hashed-in-list', password }];
    const first = await shop.callOnce(identity.createUser, { user }, 'hash', manager);
    const list = await shop.callOnce(identity.createUsers, { users }, 'hash-list', manager);
    await shop.call(identity.updateUser, { username: 'hashed-once', user: { username: 'renamed' } }, manager);
    await shop.sql.query(`DELETE FROM users WHERE username = 'hashed-in-list'`);
    const hash = jest.spyOn(PasswordHasher.prototype, 'hashAll');
    for (let n = 0; n < 4; n++) {
      const repeated = await shop.callOnce(identity.createUser, { user }, 'hash', manager);
      expect(repeated).toEqual({ ...first, replayed: true });
      expect(await shop.callOnce(identity.createUsers, { users }, 'hash-list', manager)).toEqual({
        ...list,
        replayed: true,
      });
    }
    expect(hash).not.toHaveBeenCalled();
    // Proves that the spy works: another key makes this a new request.
    await shop.callOnce(identity.createUsers, { users }, 'hash-list-again', manager);
    expect(hash).toHaveBeenCalledTimes(1);
  });

  it('is refused before any hashing when its key was used for another body or operation', async () => {
    const user = { username: 'first-body', password };
    await shop.callOnce(identity.createUser, { user }, 'reused', manager);
    const { username, principal } = await shop.registerAndLogin();
    await shop.callOnce(identity.createApiKey, { username, apiKey: { name: 'a' } }, 'reused', principal);
    const hash = jest.spyOn(PasswordHasher.prototype, 'hashAll');
    const others = [
      shop.callOnce(identity.createUser, { user: { ...user, username: 'other-body' } }, 'reused', manager),
      shop.callOnce(identity.createUser, { user: { ...user, password: 'another-password' } }, 'reused', manager),
      shop.callOnce(identity.createUsers, { users: [user] }, 'reused', manager),
      shop.callOnce(identity.createApiKey, { username, apiKey: { name: 'b' } }, 'reused', principal),
    ];
    await Promise.all(others.map((one) => expect(one).rejects.toMatchObject({ code: 'idempotency-key-reused' })));
    expect(hash).not.toHaveBeenCalled();
    expect(await count(`username = 'other-body'`)).toBe(0);
  });

  it('is a separate request when another principal sends the same key', async () => {
    const { username, principal } = await shop.registerAndLogin();
    const request = { username, apiKey: { name: 'same name' } };
    const mine = await shop.callOnce(identity.createApiKey, request, 'shared', principal);
    const theirs = await shop.callOnce(identity.createApiKey, request, 'shared', manager);
    expect(theirs.replayed).toBe(false);
    expect(theirs.answer.id).not.toBe(mine.answer.id);
  });

  it('is evaluated again after a refusal', async () => {
    await shop.register({ username: 'in-the-way' });
    const user = { username: 'in-the-way', password };
    const send = () => shop.callOnce(identity.createUser, { user }, 'again', manager);
    for (let n = 0; n < 2; n++) await expect(send()).rejects.toMatchObject({ code: 'username-taken' });
    await shop.call(identity.updateUser, { username: 'in-the-way', user: { username: 'out-of-the-way' } }, manager);
    expect((await send()).replayed).toBe(false);
    expect((await send()).replayed).toBe(true);
  });

  it('does not return an API key to a credential of the same user that may not create one', async () => {
    const { username, principal } = await shop.registerAndLogin();
    const request = { username, apiKey: { name: 'till 4' } };
    await shop.callOnce(identity.createApiKey, request, 'shown', principal);
    const weaker = { ...principal, shown: ['apiKey'] };
    await expect(shop.callOnce(identity.createApiKey, request, 'shown', weaker)).rejects.toMatchObject({
      code: 'forbidden',
    });
  });

  it('does not return a key or client secret to a credential of the same user that lacks its permissions', async () => {
    const { username } = await shop.register();
    const { username: owner } = await shop.register();
    const client = { name: 'Till', grantTypes: ['client_credentials' as const], scopes: ['write:orders' as const], owner };
    const narrow = { ...manager, permissions: ['write:users', 'read:orders'] };
    const key = await shop.call(identity.createApiKey, { username, apiKey: { name: 'till 4' } }, manager);
    const { clientId } = await shop.call(identity.createOAuthClient, { client }, manager);
    const requests = [
      (by: Principal) => shop.callOnce(identity.createApiKey, { username, apiKey: { name: 'till 5' } }, 'key', by),
      (by: Principal) => shop.callOnce(identity.rotateApiKey, { username, apiKeyId: key.id, rotation: {} }, 'rotation', by),
      (by: Principal) => shop.callOnce(identity.createOAuthClient, { client }, 'client', by),
      (by: Principal) => shop.callOnce(identity.rotateOAuthClientSecret, { clientId }, 'secret', by),
    ];
    for (const request of requests) {
      await request(manager);
      await expect(request(narrow)).rejects.toMatchObject({ code: 'forbidden' });
      expect((await request({ ...narrow, permissions: [...narrow.permissions, 'read:plants', 'write:orders', 'webhooks'] })).replayed).toBe(true);
    }
  });

  it('stores its key, its password and its answer only hashed or encrypted', async () => {
    const { username, principal } = await shop.registerAndLogin();
    const request = { username, apiKey: { name: 'a readable name' } };
    const { answer } = await shop.callOnce(identity.createApiKey, request, 'a-readable-idempotency-key', principal);
    const user = { username: 'readable-user', password: 'a-readable-password', firstName: 'Readable' };
    await shop.callOnce(identity.createUser, { user }, 'a-readable-idempotency-key', manager);
    const { rows } = await shop.sql.query<{ row: string }>('SELECT k::text AS row FROM idempotency_keys k');
    expect(rows.length).toBeGreaterThan(2);
    const all = rows
      .map(({ row }) => row + Buffer.from(row.replaceAll(/[^0-9a-f]/g, ''), 'hex').toString('latin1'))
      .join();
    expect(all).not.toMatch(/readable/i);
    expect(all).not.toContain(answer.key);
    expect(all).not.toContain(answer.id);
    // Even with the Idempotency-Key, the fingerprint does not allow guessing the password offline.
    const payload = Buffer.from(JSON.stringify({ user }));
    const { pattern } = identity.createUser;
    const guess = new IdempotencyKey(manager.subject, 'a-readable-idempotency-key', pattern, payload);
    const found = (column: string, value: Buffer): Promise<{ rowCount: number | null }> =>
      shop.sql.query(`SELECT 1 FROM idempotency_keys WHERE ${column} = $1`, [value]);
    expect((await found('hash', guess.hash)).rowCount).toBe(1);
    expect((await found('fingerprint', guess.fingerprint)).rowCount).toBe(0);
    const { rows: users } = await shop.sql.query<{ row: string }>('SELECT u::text AS row FROM users u');
    expect(users.map(({ row }) => row).join()).not.toContain('a-readable-password');
  });
});
