import { describe, expect, it } from '@jest/globals';
import { ageLimitMs, isFull } from './connections.js';

describe('the capacity of a replica', () => {
  it('is used up at 95 % of the limit, and free again below 90 %', () => {
    expect([949, 950, 1_000].map((open) => isFull(false, open, 1_000))).toEqual([false, true, true]);
    expect([950, 900, 899].map((open) => isFull(true, open, 1_000))).toEqual([true, true, false]);
  });

  it('of one connection is used up by one, and free without', () => {
    expect([isFull(false, 0, 1), isFull(false, 1, 1), isFull(true, 0, 1)]).toEqual([false, true, false]);
  });
});

describe('the age of a connection', () => {
  it('is between half of the maximum and all of it', () => {
    expect([0, 0.5, 1].map((random) => ageLimitMs(1_000, random))).toEqual([1_000, 750, 500]);
  });

  it('is unlimited without a maximum', () => {
    expect(ageLimitMs(0, 0.5)).toBe(Infinity);
  });
});
