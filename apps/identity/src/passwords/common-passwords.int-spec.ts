import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { manager, TestIdentity } from '../identity.spec.fixture.js';
import { commonPasswords } from './common-passwords.js';

describe('common passwords', () => {
  let shop: TestIdentity;
  beforeAll(async () => {
    shop = await TestIdentity.start({ refuseCommonPasswords: true });
  });
  afterAll(() => shop.stop());

  it.each(['password1', 'PASSWORD', 'Qwertyuiop', '1234567890', 'iloveyou', 'baseball'])('include %s', async (password) => {
    expect((await commonPasswords(8)).has(password)).toBe(true);
  });

  it.each(['a-good-password', 'correct horse battery staple', 'x8$kQz!17pL'])('do not include %s', async (password) => {
    expect((await commonPasswords(8)).has(password)).toBe(false);
  });

  it('are refused for a new user, with a pointer to the field', async () => {
    const users = [
      { username: 'fern', password: 'a-good-password' },
      { username: 'moss', password: 'Password1' },
    ];
    const created = shop.call(identity.createUsers, { users });
    await expect(created).rejects.toMatchObject({
      code: 'invalid-input',
      details: { errors: [{ pointer: '/users/1/password', detail: expect.stringContaining('choose another') }] },
    });
    await expect(shop.register({ username: 'moss', password: 'Password1' })).rejects.toMatchObject({
      details: { errors: [{ pointer: '/user/password' }] },
    });
  });

  it('are refused when a password is changed', async () => {
    const { username, password } = await shop.register();
    const change = shop.call(identity.updateUser, { username, user: { password: 'iloveyou' } }, manager);
    await expect(change).rejects.toMatchObject({ details: { errors: [{ pointer: '/user/password' }] } });
    await expect(shop.login(username, password)).resolves.toMatchObject({ token: expect.any(String) });
  });
});
