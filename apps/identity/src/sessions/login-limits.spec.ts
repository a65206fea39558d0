import { describe, expect, it } from '@jest/globals';
import { subjectOfUser } from './login-limits.js';

describe('the subject of a failed login', () => {
  it('is the username, ignoring case', () => {
    const limits = { perUser: 1, perNetwork: 1 };
    expect(subjectOfUser('Rose', limits)).toEqual(subjectOfUser('rOSE', limits));
    expect(subjectOfUser('Rose', limits)).not.toEqual(subjectOfUser('Rosa', limits));
  });
});
