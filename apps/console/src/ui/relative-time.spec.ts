import { describe, expect, it } from '@jest/globals';
import { relativeTo } from './relative-time.js';

describe('a relative time', () => {
  it('says of what is to come that it comes, even within the difference of two clocks', () => {
    expect(relativeTo(1_000, 0)).toBe('just now');
    expect(relativeTo(1_000, 0, true)).toBe('in a moment');
    expect(relativeTo(0, 1_000, true)).toBe('in a moment');
    expect(relativeTo(60_000, 0, true)).toMatch(/^in 1 min/);
  });
});
