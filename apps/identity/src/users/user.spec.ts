import { describe, expect, it } from '@jest/globals';
import { conflictsOf, managed, mayManage, passwordFaults, refuseConflicts, usernameKey } from './user.js';

describe('the rules of users', () => {
  const user = { userId: '0b0c0d0e-0000-4000-8000-000000000001' };
  const principal = (subject: string, shown: string[], permissions: string[] = []) => ({ subject, shown, permissions });

  it('compare names in ASCII without case, and leave all else as it is', () => {
    expect(usernameKey('Rose.A@Shop')).toBe('rose.a@shop');
    expect(usernameKey('\u212Aelvin İ')).toBe('\u212Aelvin İ');
  });

  it('let the user in person and write:users manage a user, and nobody else', () => {
    expect(mayManage(principal(user.userId, ['session']), user)).toBe(true);
    expect(mayManage(principal(user.userId, ['apiKey', 'session']), user)).toBe(true);
    expect(mayManage(principal('somebody', ['apiKey'], ['write:users']), user)).toBe(true);
    expect(mayManage(principal(user.userId, ['apiKey', 'accessToken']), user)).toBe(false);
    expect(mayManage(principal('somebody', ['session'], ['write:plants', 'manage:orders']), user)).toBe(false);
    expect(mayManage(undefined, user)).toBe(false);
  });

  it('tell only those who may manage users that one does not exist', () => {
    expect(() => managed(principal('somebody', ['session']), undefined)).toThrow(
      expect.objectContaining({ code: 'forbidden' }),
    );
    expect(() => managed(principal('somebody', ['apiKey'], ['write:users']), undefined)).toThrow(
      expect.objectContaining({ code: 'user-not-found' }),
    );
    expect(managed(principal(user.userId, ['session']), user)).toBe(user);
  });

  it('ask for passwords that are long enough, and that not everybody has', () => {
    const rules = { minLength: 8, common: new Set(['baseball']) };
    expect(passwordFaults('1234567', rules, '/users/3')).toEqual([
      { pointer: '/users/3/password', detail: 'must have at least 8 characters' },
    ]);
    expect(passwordFaults('12345678', rules, '/user')).toEqual([]);
    expect(passwordFaults('baseball', rules, '/user')).toEqual([
      { pointer: '/user/password', detail: expect.stringContaining('choose another one') },
    ]);
  });

  describe('on a list', () => {
    const none = { keys: new Set<string>(), ids: new Set<number>() };
    const candidate = (n: number, username: string, id = 0) => ({ pointer: `/users/${n}`, username, id });

    it('find the later one of each pair, and what others have', () => {
      const others = { keys: new Set(['taken']), ids: new Set([5]) };
      const list = [candidate(0, 'a'), candidate(1, 'TAKEN', 5), candidate(2, 'A', 6), candidate(3, 'b', 6)];
      expect(conflictsOf(list, others).map(({ code, fault }) => [code, fault.pointer])).toEqual([
        ['username-taken', '/users/1/username'],
        ['user-id-taken', '/users/1/id'],
        ['username-taken', '/users/2/username'],
        ['user-id-taken', '/users/3/id'],
      ]);
    });

    it('take any number of ids to be assigned', () => {
      expect(conflictsOf([candidate(0, 'a'), candidate(1, 'b')], none)).toEqual([]);
    });

    it('refuse with the code of the first conflict and the faults of all', () => {
      const conflicts = conflictsOf([candidate(0, 'a', 1), candidate(1, 'b', 1), candidate(2, 'A')], none);
      expect(() => refuseConflicts(conflicts)).toThrow(
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
      expect(() => refuseConflicts([])).not.toThrow();
    });
  });
});
