import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { permissionsOfRole } from '@plant-shop/contracts/permissions';
import { until } from '@plant-shop/testing/until';
import { Follower } from '../credentials/follower.spec.fixture.js';
import { manager, TestIdentity, testSecret } from '../identity.spec.fixture.js';
import { type CommandResult, runOperatorCommand } from '../process.spec.fixture.js';

describe('node dist/set-role.js', () => {
  let shop: TestIdentity;
  let follower: Follower;
  beforeAll(async () => {
    shop = await TestIdentity.start();
  });
  afterEach(() => follower.stop());
  afterAll(() => shop.stop());

  /** The command needs only the database, and the secret that encrypts the mail to the user. */
  const run = (...args: string[]): Promise<CommandResult> =>
    runOperatorCommand('set-role', args, { IDENTITY_DATABASE_URL: shop.databaseUrl, IDENTITY_SECRET: testSecret });
  const revocationsFrom = async (position: number): Promise<unknown> =>
    (await shop.call(identity.readRevocations, { after: position })).entries;

  it('creates the first admin, whose session has the new permissions within a second, and prints the change (slow)', async () => {
    const { username, userId, token, principal } = await shop.registerAndLogin();
    const apiKey = { name: 'k', permissions: ['write:orders' as const] };
    const { key } = await shop.call(identity.createApiKey, { username, apiKey }, principal);
    follower = await Follower.start(shop);
    expect(await follower.check('session', token)).toMatchObject({ permissions: permissionsOfRole.customer });
    const { code, stdout, stderr } = await run(username.toUpperCase(), 'admin');
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `${username} is admin now (was customer).\n`,
    });
    expect(JSON.parse(stderr)).toMatchObject({
      service: 'identity',
      msg: 'role changed',
      userId,
      username,
      before: 'customer',
      after: 'admin',
      time: expect.any(String),
      host: expect.any(String),
    });
    await until(async () => (await follower.check('session', token)).permissions.includes('write:users'), 1_000);
    // A key never gets more permissions than it was created with.
    expect(await follower.check('apiKey', key)).toMatchObject({ permissions: ['write:orders'] });
    const admin = { ...principal, permissions: (await follower.check('session', token)).permissions };
    const other = await shop.register();
    await shop.call(identity.updateUser, { username: other.username, user: { phone: '1' } }, admin);
  });

  it('removes permissions that the new role lacks from keys and sessions, which continue (slow)', async () => {
    const { username, userId, token } = await shop.registerAndLogin();
    await shop.sql.query(`UPDATE users SET role = 'staff' WHERE user_id = $1`, [userId]);
    const apiKey = { name: 'k', permissions: ['write:plants' as const, 'webhooks' as const] };
    const { key } = await shop.call(identity.createApiKey, { username, apiKey }, manager);
    follower = await Follower.start(shop);
    expect(await follower.check('apiKey', key)).toMatchObject({ permissions: ['write:plants', 'webhooks'] });
    expect(await follower.check('session', token)).toMatchObject({ permissions: permissionsOfRole.staff });
    expect(await run(username, 'customer')).toMatchObject({ code: 0 });
    await until(async () => !(await follower.check('apiKey', key)).permissions.includes('write:plants'), 1_000);
    expect(await follower.check('apiKey', key)).toMatchObject({ permissions: ['webhooks'] });
    expect(await follower.check('session', token)).toMatchObject({ permissions: permissionsOfRole.customer });
    expect(follower.received).toEqual([expect.objectContaining({ kind: 'userChanged', id: userId })]);
  });

  it('changes nothing and logs nothing when the user already has the role or does not exist (slow)', async () => {
    const { username } = await shop.register();
    follower = await Follower.start(shop);
    const { head } = await shop.call(identity.readRevocations, { after: 0 });
    const [again, unknown] = await Promise.all([run(username, 'customer'), run('unknown-user', 'admin')]);
    expect(again).toEqual({
      code: 0,
      stdout: `${username} is already customer; nothing changed.\n`,
      stderr: '',
    });
    expect(unknown).toEqual({ code: 1, stdout: '', stderr: 'There is no user with this name.\n' });
    expect(await revocationsFrom(head)).toEqual([]);
  });

  it('prints its usage when called with wrong arguments, and the setting that is missing (slow)', async () => {
    follower = await Follower.start(shop);
    const usage = 'usage: node dist/set-role.js <username> <customer|staff|admin>\n';
    const [unknown, unset] = await Promise.all([run('ann', 'king'), runOperatorCommand('set-role', ['ann', 'staff'], {})]);
    expect(unknown).toEqual({ code: 64, stdout: '', stderr: usage });
    expect(unset).toMatchObject({ code: 78, stderr: expect.stringContaining('IDENTITY_DATABASE_URL is missing') });
  });
});
