import { describe, expect, it } from '@jest/globals';
import { RateLimit } from './rate-limit.js';

describe('the rate limit', () => {
  it('counts each key by itself', () => {
    const limit = new RateLimit(2, () => 0);
    expect([limit.take('a').left, limit.take('a').left, limit.take('a').left]).toEqual([1, 0, -1]);
    expect(limit.take('b').left).toBe(1);
  });

  it('says how long the window still is, and begins anew after it', () => {
    let now = 0;
    const limit = new RateLimit(1, () => now);
    expect(limit.take('a')).toEqual({ left: 0, resetSeconds: 60 });
    now = 59_500;
    expect(limit.take('a')).toEqual({ left: -1, resetSeconds: 1 });
    now = 60_000;
    expect(limit.take('a')).toEqual({ left: 0, resetSeconds: 60 });
  });

  it('counts what costs more as several requests, of which one is always let in', () => {
    const limit = new RateLimit(10, () => 0);
    expect([limit.take('a', 4).left, limit.take('a', 4).left, limit.take('a', 4).left]).toEqual([6, 2, -2]);
    expect([limit.take('b', 100).left, limit.take('b').left]).toEqual([0, -1]);
  });

  it('is used up when the next request would be too many', () => {
    const limit = new RateLimit(1, () => 0);
    expect(limit.isUsedUp('a')).toBe(false);
    limit.take('a');
    expect(limit.isUsedUp('a')).toBe(true);
  });

  it('needs bounded memory: keys beyond the bound share one counter', () => {
    const limit = new RateLimit(10, () => 0, 2);
    limit.take('a');
    limit.take('b');
    for (let n = 0; n < 9; n++) limit.take(`c${n}`);
    expect(limit.take('d').left).toBe(0);
    expect(limit.take('a').left).toBe(8);
  });
});
