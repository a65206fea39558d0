import { afterEach, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { permissions } from '@plant-shop/contracts/permissions';
import { TestIdentity } from '../identity.spec.fixture.js';

describe('demo data', () => {
  let shop: TestIdentity | undefined;
  afterEach(() => shop?.stop());

  it('creates the printed credentials at each start, also when two processes start concurrently (slow)', async () => {
    shop = await TestIdentity.start();
    await Promise.all([shop.addReplica({ demoData: true }), shop.addReplica({ demoData: true })]);
    const { token } = await shop.login('admin', 'admin-password');
    const session = await shop.check('session', token);
    const key = await shop.check('apiKey', 'special-key');
    expect(key).toMatchObject({ kind: 'apiKey', userId: session.userId, permissions });

    const principal = { subject: session.userId, permissions, shown: ['session'] };
    await shop.call(identity.revokeApiKey, { username: 'admin', apiKeyId: key.id }, principal);
    await expect(shop.check('apiKey', 'special-key')).rejects.toMatchObject({ code: 'credential-refused' });

    const { rows: before } = await shop.sql.query('SELECT password_hash FROM users');
    const { rows: clientBefore } = await shop.sql.query('SELECT * FROM oauth_clients');
    await shop.addReplica({ demoData: true });
    expect(await shop.check('apiKey', 'special-key')).toMatchObject({
      userId: session.userId,
      id: expect.not.stringContaining(key.id),
    });
    expect((await shop.sql.query('SELECT password_hash FROM users')).rows).toEqual(before);
    expect((await shop.sql.query('SELECT * FROM oauth_clients')).rows).toEqual(clientBefore);
  });

  it('is not created by default (slow)', async () => {
    shop = await TestIdentity.start();
    await expect(shop.check('apiKey', 'special-key')).rejects.toMatchObject({ code: 'credential-refused' });
    await expect(shop.login('admin', 'admin-password')).rejects.toMatchObject({ code: 'login-failed' });
  });
});
