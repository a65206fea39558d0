import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { identity, type UserPatch } from '@plant-shop/contracts/identity';
import { contextFor } from '@plant-shop/service-testing/service';
import { manager, TestIdentity } from '../identity.spec.fixture.js';
import { PasswordHasher } from '../passwords/password-hasher.js';

describe('users', () => {
  let shop: TestIdentity;
  beforeAll(async () => {
    shop = await TestIdentity.start();
  });
  afterAll(() => shop.stop());

  const count = async (where: string): Promise<number> =>
    (await shop.sql.query<{ n: number }>(`SELECT count(*)::int AS n FROM users WHERE ${where}`)).rows[0]!.n;

  it('are returned as created, without the password', async () => {
    const user = {
      username: 'Rose.1',
      password: 'rose-password',
      firstName: 'Rose',
      email: 'rose@shop.test',
      userStatus: 1,
    };
    const created = await shop.call(identity.createUser, { user });
    expect(created).toEqual({
      id: expect.any(Number),
      username: 'Rose.1',
      firstName: 'Rose',
      email: 'rose@shop.test',
      emailVerified: false,
      orderMails: false,
      userStatus: 1,
      updatedAt: expect.any(String),
    });
    expect(created.id).toBeGreaterThanOrEqual(1_000_000_001);
  });

  it('have an external id and metadata, which only managers of users set and see', async () => {
    const externals = { externalId: 'CRM-1', metadata: { segment: 'gardeners', since: '2020' } };
    const own = { username: 'external', password: 'a-good-password' };
    await expect(shop.call(identity.createUser, { user: { ...own, ...externals } })).rejects.toMatchObject({ code: 'forbidden' });
    expect(await shop.call(identity.createUser, { user: { ...own, ...externals } }, manager)).toMatchObject(externals);
    const { principal, username } = await shop.registerAndLogin();
    const seen = await shop.call(identity.getUser, { username: 'external' }, principal);
    for (const name of ['externalId', 'metadata', 'updatedAt']) expect(seen).not.toHaveProperty(name);
    expect(await shop.call(identity.getUser, { username: 'external' }, manager)).toMatchObject({ ...externals, updatedAt: expect.any(String) });
    const change = (user: object, by = principal) => shop.call(identity.updateUser, { username, user }, by);
    for (const user of [{ externalId: 'CRM-2' }, { metadata: { segment: 'x' } }]) await expect(change(user)).rejects.toMatchObject({ code: 'forbidden' });
    await expect(change({ externalId: 'CRM-1' }, manager)).rejects.toMatchObject({ code: 'external-id-exists', details: { errors: [{ pointer: '/user/externalId' }] } });
    expect(await change({ externalId: 'CRM-2', metadata: { segment: 'x' } }, manager)).toMatchObject({ externalId: 'CRM-2', metadata: { segment: 'x' } });
    const read = await shop.call(identity.getOwnUser, {}, principal);
    expect(read).toMatchObject({ externalId: 'CRM-2', metadata: { segment: 'x' } });
    // What was read can be sent back.
    await change({ ...read, phone: '1' });
    expect(await shop.call(identity.listUsers, { metadata: { segment: 'gardeners', since: '2020' } }, manager)).toMatchObject([{ username: 'external' }]);
    expect(await shop.call(identity.listUsers, { metadata: { segment: 'gardeners', since: '2021' } }, manager)).toEqual([]);
    expect(await shop.call(identity.listUsers, { externalId: 'CRM-2', q: 'user' }, manager)).toMatchObject([{ username }]);
    const cleared = await change({ externalId: null, metadata: null }, manager);
    for (const name of ['externalId', 'metadata']) expect(cleared).not.toHaveProperty(name);
  });

  it('are changed by a merge patch: absent fields stay, and null removes one', async () => {
    const { principal, username } = await shop.registerAndLogin();
    const patch = (user: UserPatch, by = principal, ifVersion?: number) => shop.call(identity.patchUser, { username, user, ...(ifVersion !== undefined && { ifVersion }) }, by);
    await patch({ firstName: 'Ada', phone: '1', userStatus: 3, email: 'ada@shop.test' });
    await patch({ metadata: { a: '1', b: '2' }, externalId: 'CRM-9' }, manager);
    const version = await shop.versionOf(username);
    expect(await patch({ phone: null, userStatus: null, lastName: 'King' }, principal, version)).toEqual({ id: expect.any(Number), username, firstName: 'Ada', lastName: 'King', email: 'ada@shop.test', emailVerified: false, orderMails: false, updatedAt: expect.any(String) });
    await expect(patch({ phone: '2' }, principal, version)).rejects.toMatchObject({ code: 'precondition-failed' });
    expect(await patch({ metadata: { a: null, c: '3' } }, manager)).toMatchObject({ metadata: { b: '2', c: '3' }, externalId: 'CRM-9' });
    for (const [field, user] of Object.entries({ username: { username: null }, password: { password: null }, id: { id: null } })) {
      await expect(patch(user as never)).rejects.toMatchObject({ code: 'invalid-input', details: { errors: [{ pointer: `/user/${field}` }] } });
    }
    await expect(patch({ externalId: null })).rejects.toMatchObject({ code: 'forbidden' });
    await expect(patch({ metadata: { c: '4' } })).rejects.toMatchObject({ code: 'forbidden' });
    expect(await patch({ metadata: null, externalId: null }, manager)).not.toHaveProperty('metadata');
    // A session from a while ago, and no password.
    await shop.sql.query(`UPDATE sessions SET created_at = now() - interval '11 minutes' WHERE user_id = $1`, [principal.subject]);
    await expect(patch({ email: null })).rejects.toMatchObject({ code: 'recent-login-required' });
    expect(await patch({ email: null, currentPassword: 'a-good-password' })).not.toHaveProperty('email');
    const { principal: other } = await shop.registerAndLogin();
    await expect(patch({ phone: '3' }, other)).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('can be created with a free id, and not with a taken one', async () => {
    const password = 'a-good-password';
    await expect(
      shop.call(identity.createUser, { user: { id: 7, username: 'seven', password } }),
    ).resolves.toMatchObject({ id: 7 });
    await expect(
      shop.call(identity.createUser, { user: { id: 7, username: 'other-seven', password } }),
    ).rejects.toMatchObject({
      code: 'user-id-taken',
      details: { errors: [{ pointer: '/user/id' }] },
    });
  });

  it('get assigned ids that skip those claimed by clients', async () => {
    const { user } = await shop.register();
    const password = 'a-good-password';
    const users = Array.from({ length: 40 }, (_, n) => ({ id: user.id + 1 + n, username: `squatter-${n}`, password }));
    await shop.call(identity.createUsers, { users });
    const next = await shop.register();
    expect(next.user.id).toBeGreaterThan(user.id + 40);
  });

  it('get assigned ids that differ from those requested in the same list', async () => {
    const { user } = await shop.register();
    const password = 'a-good-password';
    const users = Array.from({ length: 10 }, (_, n) => [
      { username: `assigned-${n}`, password },
      { id: user.id + 1 + n, username: `named-${n}`, password },
    ]).flat();
    const created = await shop.call(identity.createUsers, { users });
    expect(created.filter((_, n) => n % 2 === 1).map(({ id }) => id)).toEqual(Array.from({ length: 10 }, (_, n) => user.id + 1 + n));
    expect(new Set(created.map(({ id }) => id)).size).toBe(20);
  });

  it('get assigned ids after 10,000 consecutive claimed ones, 20 users at once (slow)', async () => {
    const { user } = await shop.register();
    await shop.sql.query(
      `INSERT INTO users (user_id, id, username, password_hash, role)
       SELECT gen_random_uuid(), $1::bigint + n, 'claimer-' || n, 'none', 'customer' FROM generate_series(1, 10000) AS n`,
      [user.id],
    );
    const users = Array.from({ length: 20 }, (_, n) => ({ username: `behind-${n}`, password: 'a-good-password' }));
    const created = await shop.call(identity.createUsers, { users });
    expect(Math.min(...created.map(({ id }) => id))).toBeGreaterThan(user.id + 10_000);
  });

  it('have names that ignore case and keep the case given', async () => {
    await shop.register({ username: 'Fern' });
    await expect(shop.register({ username: 'fERN' })).rejects.toMatchObject({
      code: 'username-taken',
      details: { errors: [{ pointer: '/user/username' }] },
    });
    await expect(shop.call(identity.getUser, { username: 'FERN' })).resolves.toMatchObject({ username: 'Fern' });
  });

  it('can be registered once under a name, also by concurrent requests', async () => {
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, () => shop.register({ username: 'contested' })),
    );
    expect(results.filter((one) => one.status === 'fulfilled')).toHaveLength(1);
    expect(
      results.flatMap((one) => (one.status === 'rejected' ? [(one.reason as { code: string }).code] : [])),
    ).toEqual(Array(19).fill('username-taken'));
  });

  it('are refused with a password that is too short, with a pointer to the field', async () => {
    await expect(shop.register({ password: 'seven77' })).rejects.toMatchObject({
      code: 'invalid-input',
      details: { errors: [{ pointer: '/user/password', detail: 'must have at least 8 characters' }] },
    });
  });

  describe('a list', () => {
    const password = 'a-good-password';

    it('is returned in order', async () => {
      const users = ['zinnia', 'aster', 'mallow'].map((username) => ({ username, password }));
      const created = await shop.call(identity.createUsers, { users });
      expect(created.map((one) => one.username)).toEqual(['zinnia', 'aster', 'mallow']);
    });

    it('is created completely or not at all, with a pointer to each bad entry', async () => {
      await shop.register({ username: 'taken' });
      const users = [
        { username: 'whole-1', password },
        { username: 'Taken', password },
        { username: 'whole-2', password },
        { username: 'WHOLE-1', password },
        { id: 901, username: 'whole-3', password },
        { id: 901, username: 'whole-4', password },
      ];
      await expect(shop.call(identity.createUsers, { users })).rejects.toMatchObject({
        code: 'username-taken',
        details: {
          errors: [{ pointer: '/users/1/username' }, { pointer: '/users/3/username' }, { pointer: '/users/5/id' }],
        },
      });
      expect(await count(`username LIKE 'whole-%'`)).toBe(0);
    });

    it('is refused with a pointer to an entry that is invalid or has a short password', async () => {
      const shaped = [
        { username: 'shape-1', password },
        { username: '-bad', password },
      ];
      await expect(shop.call(identity.createUsers, { users: shaped })).rejects.toMatchObject({
        code: 'invalid-input',
        details: { errors: [{ pointer: '/users/1/username' }] },
      });
      const short = [
        { username: 'shape-1', password },
        { username: 'shape-2', password: 'short' },
      ];
      await expect(shop.call(identity.createUsers, { users: short })).rejects.toMatchObject({
        details: { errors: [{ pointer: '/users/1/password' }] },
      });
      expect(await count(`username LIKE 'shape-%'`)).toBe(0);
    });

    it('leaves nothing of losing lists when lists with the same names race', async () => {
      const lists = Array.from({ length: 6 }, (_, list) =>
        Array.from({ length: 30 }, (_, n) => ({
          username: `race-${(n * 7 + list * 11) % 30}`,
          password,
          firstName: `list ${list}`,
        })),
      );
      const results = await Promise.allSettled(lists.map((users) => shop.call(identity.createUsers, { users })));
      expect(results.filter((one) => one.status === 'fulfilled')).toHaveLength(1);
      expect(await count(`username LIKE 'race-%'`)).toBe(30);
      const { rows } = await shop.sql.query(`SELECT DISTINCT first_name FROM users WHERE username LIKE 'race-%'`);
      expect(rows).toHaveLength(1);
    });
  });

  describe('a profile', () => {
    it('shows email and phone only to a session of the user or with write:users', async () => {
      const { username, password } = await shop.register({ email: 'ivy@shop.test', phone: '+1 555' });
      const { token } = await shop.login(username, password);
      const { userId } = await shop.check('session', token);
      const get = (shown: string[], subject = userId): Promise<unknown> =>
        shop.call(identity.getUser, { username }, { subject, permissions: [], shown });
      const full = expect.objectContaining({ email: 'ivy@shop.test', phone: '+1 555' });
      await expect(get(['session'])).resolves.toEqual(full);
      await expect(shop.call(identity.getUser, { username }, manager)).resolves.toEqual(full);
      for (const outsider of [
        get(['apiKey']),
        get(['session'], manager.subject),
        shop.call(identity.getUser, { username }),
      ]) {
        await expect(outsider).resolves.toEqual({ id: expect.any(Number), username });
      }
    });

    it('is changed field by field, with a session of the user or with write:users', async () => {
      const { username, principal } = await shop.registerAndLogin();
      const renamed = `${username}-2`;
      await expect(
        shop.call(identity.updateUser, { username, user: { username: renamed, email: 'x@shop.test' } }, principal),
      ).resolves.toMatchObject({ username: renamed, email: 'x@shop.test' });
      await expect(
        shop.call(identity.updateUser, { username: renamed, user: { phone: '5' } }, manager),
      ).resolves.toMatchObject({ email: 'x@shop.test', phone: '5' });
    });

    it('cannot be changed by other users, nor with an API key of the user', async () => {
      const { username, principal } = await shop.registerAndLogin();
      const other = (await shop.registerAndLogin()).principal;
      for (const one of [{ ...principal, shown: ['apiKey'] }, other]) {
        await expect(shop.call(identity.updateUser, { username, user: { phone: '1' } }, one)).rejects.toMatchObject({
          code: 'forbidden',
        });
      }
    });

    it('does not reveal without write:users whether a user exists', async () => {
      const { principal } = await shop.registerAndLogin();
      const update = { username: 'unknown-user', user: { phone: '1' } };
      await expect(shop.call(identity.updateUser, update, principal)).rejects.toMatchObject({ code: 'forbidden' });
      await expect(shop.call(identity.updateUser, update, manager)).rejects.toMatchObject({ code: 'user-not-found' });
    });

    it('keeps names and ids unique through changes', async () => {
      const first = await shop.register();
      const second = await shop.register();
      const change = (user: object): Promise<unknown> =>
        shop.call(identity.updateUser, { username: second.username, user }, manager);
      await expect(change({ username: first.username.toUpperCase() })).rejects.toMatchObject({
        code: 'username-taken',
        details: { errors: [{ pointer: '/user/username' }] },
      });
      await expect(change({ id: first.user.id })).rejects.toMatchObject({ code: 'user-id-taken' });
      await expect(change({ username: second.username.toUpperCase() })).resolves.toMatchObject({ id: second.user.id });
    });

    it('carries its version, and is unchanged when another version was expected', async () => {
      const { username } = await shop.register();
      const first = await shop.versionOf(username);
      const change = (phone: string, ifVersion: number) =>
        shop.caller.client.callRaw(identity.updateUser, { username, user: { phone }, ifVersion }, contextFor(manager));
      const { version: second = 0 } = await change('1', first);
      expect(second).toBeGreaterThan(first);
      for (const ifVersion of [0, first, second + 1]) {
        await expect(change('2', ifVersion)).rejects.toMatchObject({ code: 'precondition-failed' });
      }
      expect(await shop.versionOf(username)).toBe(second);
      await expect(shop.call(identity.getUser, { username }, manager)).resolves.toMatchObject({ phone: '1' });
    });

    it('is unchanged when another user had the name at the expected version', async () => {
      const [{ username: first }, { username: second }] = [await shop.register(), await shop.register()];
      const version = await shop.versionOf(first);
      await shop.call(identity.updateUser, { username: first, user: { username: `${first}-before` } }, manager);
      await shop.call(identity.updateUser, { username: second, user: { username: first } }, manager);
      await expect(shop.call(identity.updateUser, { username: first, user: { phone: '1' }, ifVersion: version }, manager)).rejects.toMatchObject({ code: 'precondition-failed' });
    });

    it('is changed by one of many requests that expect the same version', async () => {
      const { username } = await shop.register();
      const ifVersion = await shop.versionOf(username);
      const results = await Promise.allSettled(
        Array.from({ length: 10 }, (_, n) =>
          shop.call(identity.updateUser, { username, user: { phone: `${n}` }, ifVersion }, manager),
        ),
      );
      const codes = results.map((one) => (one.status === 'fulfilled' ? 'ok' : (one.reason as { code: string }).code));
      expect(codes.sort()).toEqual(['ok', ...Array<string>(9).fill('precondition-failed')]);
    });

    it('costs no password hash when the version differs or the principal may not change it', async () => {
      const { username, principal } = await shop.registerAndLogin();
      const hash = jest.spyOn(PasswordHasher.prototype, 'hash');
      const update = { username, user: { password: 'another-password' } };
      await expect(shop.call(identity.updateUser, { ...update, ifVersion: 0 }, principal)).rejects.toMatchObject({
        code: 'precondition-failed',
      });
      await expect(
        shop.call(identity.updateUser, update, { ...principal, shown: ['apiKey'] }),
      ).rejects.toMatchObject({ code: 'forbidden' });
      await expect(shop.call(identity.updateUser, update, { ...manager, permissions: ['write:users'] })).rejects.toMatchObject({ code: 'forbidden' });
      expect(hash).not.toHaveBeenCalled();
      await shop.call(identity.updateUser, { ...update, ifVersion: await shop.versionOf(username) }, principal);
      expect(hash).toHaveBeenCalledTimes(1);
      hash.mockRestore();
    });
  });
});
