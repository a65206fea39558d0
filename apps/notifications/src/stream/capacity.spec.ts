import { describe, expect, it } from '@jest/globals';
import { ageLimitMs, isFull } from './capacity.js';

describe('the room of a replica', () => {
  it('ends a little before its limit, and begins again when a tenth is free', () => {
    expect([949, 950, 1_000].map((open) => isFull(false, open, 1_000))).toEqual([false, true, true]);
    expect([950, 900, 899].map((open) => isFull(true, open, 1_000))).toEqual([true, true, false]);
  });

  it('of a single connection is full with one, and empty without', () => {
    expect([isFull(false, 0, 1), isFull(false, 1, 1), isFull(true, 0, 1)]).toEqual([false, true, false]);
  });
});

describe('the age of a connection', () => {
  it('ends at a moment between half of the most and all of it', () => {
    expect([0, 0.5, 1].map((random) => ageLimitMs(1_000, random))).toEqual([1_000, 750, 500]);
  });

  it('has no end where none is set', () => {
    expect(ageLimitMs(0, 0.5)).toBe(Infinity);
  });
});
