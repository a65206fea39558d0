import { describe, expect, it } from '@jest/globals';
import { hashOfName, minutesOf } from './login-attempts.js';

describe('failed logins', () => {
  it('are counted by username, ignoring case', () => {
    expect(hashOfName('Rose')).toEqual(hashOfName('rOSE'));
    expect(hashOfName('Rose')).not.toEqual(hashOfName('Rosa'));
  });

  it('say in minutes how long to wait, never too few', () => {
    expect([1, 60, 61, 720].map(minutesOf)).toEqual(['1 minute', '1 minute', '2 minutes', '12 minutes']);
  });
});
