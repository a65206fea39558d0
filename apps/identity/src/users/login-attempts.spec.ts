import { describe, expect, it } from '@jest/globals';
import { hashOfName } from './login-attempts.js';

describe('failed logins', () => {
  it('are counted by username, ignoring case', () => {
    expect(hashOfName('Rose')).toEqual(hashOfName('rOSE'));
    expect(hashOfName('Rose')).not.toEqual(hashOfName('Rosa'));
  });
});
