import { describe, expect, it } from '@jest/globals';
import { assertHasAll, conflictsOf, requireManageable, mayManage, passwordErrors, assertNoConflicts, usernameKey } from './user.js';

describe('user rules', () => {
  const user = { userId: '0b0c0d0e-0000-4000-8000-000000000001' };
  const principal = (subject: string, shown: string[], permissions: string[] = []) => ({ subject, shown, permissions });

  it('fold the case of ASCII letters only when comparing names', () => {
    expect(usernameKey('Rose.A@Shop')).toBe('rose.a@shop');
    expect(usernameKey('\u212Aelvin İ')).toBe('\u212Aelvin İ');
  });

  it('let only a session of the user, or write:users, manage a user', () => {
    expect(mayManage(principal(user.userId, ['session']), user)).toBe(true);
    expect(mayManage(principal(user.userId, ['apiKey', 'session']), user)).toBe(true);
    expect(mayManage(principal('other', ['apiKey'], ['write:users']), user)).toBe(true);
    expect(mayManage(principal(user.userId, ['apiKey', 'accessToken']), user)).toBe(false);
    expect(mayManage(principal('other', ['session'], ['write:plants', 'manage:orders']), user)).toBe(false);
    expect(mayManage(undefined, user)).toBe(false);
  });

  it('reveal that a user does not exist only with write:users', () => {
    expect(() => requireManageable(principal('other', ['session']), undefined)).toThrow(
      expect.objectContaining({ code: 'forbidden' }),
    );
    expect(() => requireManageable(principal('other', ['apiKey'], ['write:users']), undefined)).toThrow(
      expect.objectContaining({ code: 'user-not-found' }),
    );
    expect(requireManageable(principal(user.userId, ['session']), user)).toBe(user);
  });

  it('refuse passwords that are too short or too common', () => {
    const rules = { minLength: 8, common: new Set(['baseball']), allowsNames: false };
    const owner = { username: 'Rose-Gardener', email: 'Rose@garden.example' };
    expect(passwordErrors('1234567', rules, '/users/3', owner)).toEqual([
      { pointer: '/users/3/password', detail: 'must have at least 8 characters' },
    ]);
    expect(passwordErrors('12345678', rules, '/user', owner)).toEqual([]);
    expect(passwordErrors('baseball', rules, '/user', owner)).toEqual([
      { pointer: '/user/password', detail: expect.stringContaining('choose another') },
    ]);
  });

  it('measure passwords in code points of their normal form', () => {
    const rules = { minLength: 8, common: new Set(['baseball']), allowsNames: true };
    const errors = (password: string) => passwordErrors(password, rules, '/user', { username: 'rose' });
    const tooShort = [expect.objectContaining({ detail: 'must have at least 8 characters' })];
    for (const password of ['crème é'.normalize('NFD'), '🌱🌿🌵🌴', 'a🌱b🌿c🌵d']) expect(errors(password)).toEqual(tooShort);
    for (const password of ['crème éa', 'ﬁﬁﬁﬁ', '🌱🌿🌵🌴🌱🌿🌵🌴']) expect(errors(password)).toEqual([]);
    expect(errors('ｂａｓｅｂａｌｌ')).toEqual([expect.objectContaining({ detail: expect.stringContaining('common') })]);
  });

  it.each([
    ['rose-gardener', 'username'],
    ['ROSE-GARDENER', 'username'],
    ['rose@GARDEN.example', 'e-mail'],
    ['Plant Shop', 'shop'],
    ['plant-shop!', 'shop'],
  ])('refuse a name as a password: %s', (password, why) => {
    const rules = { minLength: 8, common: new Set<string>(), allowsNames: false };
    const owner = { username: 'Rose-Gardener', email: 'Rose@garden.example' };
    expect(passwordErrors(password, rules, '/user', owner)).toEqual([{ pointer: '/user/password', detail: expect.stringContaining(why) }]);
    expect(passwordErrors(`${password} 2`, rules, '/user', owner)).toEqual([]);
    expect(passwordErrors(password, { ...rules, allowsNames: true }, '/user', owner)).toEqual([]);
  });

  describe('for a list', () => {
    const none = { keys: new Set<string>(), ids: new Set<number>(), externalIds: new Set<string>() };
    const candidate = (n: number, username: string, id = 0, externalId: string | null = null) => ({ pointer: `/users/${n}`, username, id, externalId });

    it('report conflicts with existing users, and the later one of each pair', () => {
      const others = { keys: new Set(['taken']), ids: new Set([5]), externalIds: new Set(['E-1']) };
      const list = [candidate(0, 'a'), candidate(1, 'TAKEN', 5), candidate(2, 'A', 6), candidate(3, 'b', 6), candidate(4, 'c', 0, 'E-1'), candidate(5, 'd', 0, 'E-2'), candidate(6, 'e', 0, 'E-2')];
      expect(conflictsOf(list, others).map(({ code, error }) => [code, error.pointer])).toEqual([
        ['username-taken', '/users/1/username'],
        ['user-id-taken', '/users/1/id'],
        ['username-taken', '/users/2/username'],
        ['user-id-taken', '/users/3/id'],
        ['external-id-exists', '/users/4/externalId'],
        ['external-id-exists', '/users/6/externalId'],
      ]);
    });

    it('allow any number of ids to be assigned', () => {
      expect(conflictsOf([candidate(0, 'a'), candidate(1, 'b')], none)).toEqual([]);
    });

    it('throw with the code of the first conflict and the errors of all', () => {
      const conflicts = conflictsOf([candidate(0, 'a', 1), candidate(1, 'b', 1), candidate(2, 'A')], none);
      expect(() => assertNoConflicts(conflicts)).toThrow(
        expect.objectContaining({
          code: 'user-id-taken',
          details: {
            errors: [
              expect.objectContaining({ pointer: '/users/1/id' }),
              expect.objectContaining({ pointer: '/users/2/username' }),
            ],
          },
        }),
      );
      expect(() => assertNoConflicts([])).not.toThrow();
    });
  });
});

describe('permissions that are passed on', () => {
  it('are those that the credential has, and what they contain', () => {
    expect(() => assertHasAll({ permissions: ['write:stock', 'write:users'] }, ['read:stock', 'write:stock'])).not.toThrow();
    expect(() => assertHasAll({ permissions: ['read:stock', 'write:users'] }, ['write:stock'])).toThrow(expect.objectContaining({ code: 'forbidden' }));
  });
});
