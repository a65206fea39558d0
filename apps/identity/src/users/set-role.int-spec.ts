import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { permissionsOfRole } from '@plant-shop/contracts/permissions';
import { until } from '@plant-shop/testing/until';
import { Follower } from '../credentials/follower.spec.fixture.js';
import { TestIdentity } from '../identity.spec.fixture.js';
import { type Ended, runEntry } from '../process.spec.fixture.js';

describe('node dist/set-role.js', () => {
  let shop: TestIdentity;
  let follower: Follower;
  beforeAll(async () => {
    shop = await TestIdentity.start();
  });
  afterEach(() => follower.stop());
  afterAll(() => shop.stop());

  /** Nothing but the database is needed. */
  const run = (...args: string[]): Promise<Ended> =>
    runEntry('set-role', args, { IDENTITY_DATABASE_URL: shop.databaseUrl });
  const revocationsFrom = async (position: number): Promise<unknown> =>
    (await shop.call(identity.readRevocations, { after: position })).entries;

  it('makes the first admin, whose session and keys permit more within a second, and says so', async () => {
    const { username, userId, token, inPerson } = await shop.enter();
    const apiKey = { name: 'k', permissions: ['write:orders' as const] };
    const { key } = await shop.call(identity.createApiKey, { username, apiKey }, inPerson);
    follower = await Follower.start(shop);
    expect(await follower.check('session', token)).toMatchObject({ permissions: permissionsOfRole.customer });
    const { code, stdout, stderr } = await run(username.toUpperCase(), 'admin');
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `${username} is admin now, and was customer before.\n`,
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
    // A key is never given more than it was made for.
    expect(await follower.check('apiKey', key)).toMatchObject({ permissions: ['write:orders'] });
    const admin = { ...inPerson, permissions: (await follower.check('session', token)).permissions };
    const other = await shop.register();
    await shop.call(identity.updateUser, { username: other.username, user: { phone: '1' } }, admin);
  });

  it('takes from keys and sessions, which go on, what the lower role may not do', async () => {
    const { username, userId, token, inPerson } = await shop.enter();
    await shop.sql.query(`UPDATE users SET role = 'staff' WHERE user_id = $1`, [userId]);
    const apiKey = { name: 'k', permissions: ['write:plants' as const, 'webhooks' as const] };
    const { key } = await shop.call(identity.createApiKey, { username, apiKey }, inPerson);
    follower = await Follower.start(shop);
    expect(await follower.check('apiKey', key)).toMatchObject({ permissions: ['write:plants', 'webhooks'] });
    expect(await follower.check('session', token)).toMatchObject({ permissions: permissionsOfRole.staff });
    expect(await run(username, 'customer')).toMatchObject({ code: 0 });
    await until(async () => !(await follower.check('apiKey', key)).permissions.includes('write:plants'), 1_000);
    expect(await follower.check('apiKey', key)).toMatchObject({ permissions: ['webhooks'] });
    expect(await follower.check('session', token)).toMatchObject({ permissions: permissionsOfRole.customer });
    expect(follower.told).toEqual([expect.objectContaining({ kind: 'userChanged', id: userId })]);
  });

  it('changes nothing and tells nobody when the user has the role already, or there is no such user', async () => {
    const { username } = await shop.register();
    follower = await Follower.start(shop);
    const { head } = await shop.call(identity.readRevocations, { after: 0 });
    const [again, nobody] = await Promise.all([run(username, 'customer'), run('nobody-there', 'admin')]);
    expect(again).toEqual({
      code: 0,
      stdout: `${username} is customer already; nothing was changed.\n`,
      stderr: '',
    });
    expect(nobody).toEqual({ code: 1, stdout: '', stderr: 'There is no user of this name.\n' });
    expect(await revocationsFrom(head)).toEqual([]);
  });

  it('explains itself when it is used in another way', async () => {
    follower = await Follower.start(shop);
    const usage = 'usage: node dist/set-role.js <username> <customer|staff|admin>\n';
    const [unknown, unset] = await Promise.all([run('ann', 'king'), runEntry('set-role', ['ann', 'staff'], {})]);
    expect(unknown).toEqual({ code: 64, stdout: '', stderr: usage });
    expect(unset).toMatchObject({ code: 78, stderr: expect.stringContaining('IDENTITY_DATABASE_URL is missing') });
  });
});
