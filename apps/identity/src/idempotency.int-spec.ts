import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { IdempotencyKey } from '@plant-shop/platform/idempotency/idempotency-key';
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

  const twins = <T>(ask: () => Promise<T>): Promise<T[]> => Promise.all(Array.from({ length: 8 }, ask));
  const count = async (where: string): Promise<number> =>
    (await shop.sql.query<{ n: number }>(`SELECT count(*)::int AS n FROM users WHERE ${where}`)).rows[0]!.n;

  it('makes one API key, however many twins of it come at once to two replicas, and all are shown it', async () => {
    const { username, inPerson } = await shop.enter();
    for (const n of [1, 2, 3]) {
      const request = { username, apiKey: { name: `key ${n}` } };
      const made = await twins(() => shop.callOnce(identity.createApiKey, request, `twins-${n}`, inPerson));
      expect(made.filter(({ replayed }) => !replayed)).toHaveLength(1);
      expect(new Set(made.map(({ answer }) => JSON.stringify(answer))).size).toBe(1);
      await expect(shop.check('apiKey', made[0]!.answer.key)).resolves.toMatchObject({ id: made[0]!.answer.id });
    }
    await expect(shop.call(identity.listApiKeys, { username }, inPerson)).resolves.toHaveLength(3);
  });

  it('makes one successor of an API key', async () => {
    const { username, inPerson } = await shop.enter();
    const { id } = await shop.call(identity.createApiKey, { username, apiKey: { name: 'k' } }, inPerson);
    const request = { username, apiKeyId: id, rotation: { graceSeconds: 60 } };
    const made = await twins(() => shop.callOnce(identity.rotateApiKey, request, 'rotation', inPerson));
    expect(made.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(new Set(made.map(({ answer }) => answer.key)).size).toBe(1);
  });

  it('registers one user, whose version and profile every twin is told', async () => {
    for (const n of [1, 2, 3]) {
      const user = { username: `twin-${n}`, password, firstName: 'Tia', email: 'tia@shop.test' };
      const made = await twins(() => shop.callOnce(identity.createUser, { user }, `user-${n}`, manager));
      expect(made.filter(({ replayed }) => !replayed)).toHaveLength(1);
      const answer = { id: made[0]!.answer.id, username: user.username, firstName: 'Tia', email: 'tia@shop.test' };
      for (const one of made) expect(one).toMatchObject({ answer, version: 1 });
    }
    expect(await count(`username LIKE 'twin-%'`)).toBe(3);
  });

  it('registers one list', async () => {
    const users = Array.from({ length: 20 }, (_, n) => ({ username: `listed-${n}`, password }));
    const made = await twins(() => shop.callOnce(identity.createUsers, { users }, 'list', manager));
    expect(made.filter(({ replayed }) => !replayed)).toHaveLength(1);
    for (const { answer } of made) expect(answer).toEqual(made[0]!.answer);
    expect(made[0]!.answer.map(({ username }) => username)).toEqual(users.map(({ username }) => username));
  });

  it('hashes no password for an answer that is saved, also when its user was changed or is gone since', async () => {
    const user = { username: 'hashed-once', password };
    const users = [{ username: 'hashed-in-list', password }];
    const first = await shop.callOnce(identity.createUser, { user }, 'hash', manager);
    const list = await shop.callOnce(identity.createUsers, { users }, 'hash-list', manager);
    await shop.call(identity.updateUser, { username: 'hashed-once', user: { username: 'renamed' } }, manager);
    await shop.sql.query(`DELETE FROM users WHERE username = 'hashed-in-list'`);
    const hash = jest.spyOn(PasswordHasher.prototype, 'hash');
    for (let n = 0; n < 4; n++) {
      const again = await shop.callOnce(identity.createUser, { user }, 'hash', manager);
      expect(again).toEqual({ ...first, replayed: true });
      expect(await shop.callOnce(identity.createUsers, { users }, 'hash-list', manager)).toEqual({
        ...list,
        replayed: true,
      });
    }
    expect(hash).not.toHaveBeenCalled();
    // The spy sees what is hashed: another key is another request.
    await shop.callOnce(identity.createUsers, { users }, 'hash-list-anew', manager);
    expect(hash).toHaveBeenCalledTimes(1);
  });

  it('is refused when its key was used for another body or operation, before anything is hashed', async () => {
    const user = { username: 'first-body', password };
    await shop.callOnce(identity.createUser, { user }, 'reused', manager);
    const { username, inPerson } = await shop.enter();
    await shop.callOnce(identity.createApiKey, { username, apiKey: { name: 'a' } }, 'reused', inPerson);
    const hash = jest.spyOn(PasswordHasher.prototype, 'hash');
    const others = [
      shop.callOnce(identity.createUser, { user: { ...user, username: 'other-body' } }, 'reused', manager),
      shop.callOnce(identity.createUser, { user: { ...user, password: 'another-password' } }, 'reused', manager),
      shop.callOnce(identity.createUsers, { users: [user] }, 'reused', manager),
      shop.callOnce(identity.createApiKey, { username, apiKey: { name: 'b' } }, 'reused', inPerson),
    ];
    await Promise.all(others.map((one) => expect(one).rejects.toMatchObject({ code: 'idempotency-key-reused' })));
    expect(hash).not.toHaveBeenCalled();
    expect(await count(`username = 'other-body'`)).toBe(0);
  });

  it('is another one with the key of another principal', async () => {
    const { username, inPerson } = await shop.enter();
    const request = { username, apiKey: { name: 'mine or theirs' } };
    const mine = await shop.callOnce(identity.createApiKey, request, 'shared', inPerson);
    const theirs = await shop.callOnce(identity.createApiKey, request, 'shared', manager);
    expect(theirs.replayed).toBe(false);
    expect(theirs.answer.id).not.toBe(mine.answer.id);
  });

  it('is judged anew when it was refused', async () => {
    await shop.register({ username: 'in-the-way' });
    const user = { username: 'in-the-way', password };
    const ask = () => shop.callOnce(identity.createUser, { user }, 'again', manager);
    for (let n = 0; n < 2; n++) await expect(ask()).rejects.toMatchObject({ code: 'username-taken' });
    await shop.call(identity.updateUser, { username: 'in-the-way', user: { username: 'out-of-the-way' } }, manager);
    expect((await ask()).replayed).toBe(false);
    expect((await ask()).replayed).toBe(true);
  });

  it('does not show an API key to a credential that may make none, though it is of the same user', async () => {
    const { username, inPerson } = await shop.enter();
    const request = { username, apiKey: { name: 'till 4' } };
    await shop.callOnce(identity.createApiKey, request, 'shown', inPerson);
    const weaker = { ...inPerson, shown: ['apiKey'] };
    await expect(shop.callOnce(identity.createApiKey, request, 'shown', weaker)).rejects.toMatchObject({
      code: 'forbidden',
    });
  });

  it('leaves nothing at rest from which its key, its password or what was answered could be read', async () => {
    const { username, inPerson } = await shop.enter();
    const request = { username, apiKey: { name: 'a readable name' } };
    const { answer } = await shop.callOnce(identity.createApiKey, request, 'a-readable-idempotency-key', inPerson);
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
    // Nor can a password be found by trying some, not even by somebody who knows the Idempotency-Key.
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
