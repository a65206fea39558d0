import { describe, expect, it, jest } from '@jest/globals';
import { Deadline, maxTimerMs } from './deadline.js';

describe('a deadline', () => {
  it('has its budget left', () => {
    const { leftMs } = Deadline.in(60_000);
    expect(leftMs).toBeLessThanOrEqual(60_000);
    expect(leftMs).toBeGreaterThan(30_000);
  });

  it('is past when its budget is used up or was never there', () => {
    expect(Deadline.in(0).isPast).toBe(true);
    expect(Deadline.in(-5).leftMs).toBe(0);
  });

  it('is past when its absolute time is, however much budget it came with: the frame had waited in a buffer', () => {
    expect(Deadline.received(60_000, Date.now() - 1).isPast).toBe(true);
  });

  it('is past when its budget is used up, whatever a clock that was set back says', () => {
    expect(Deadline.received(0, Date.now() + 60_000).isPast).toBe(true);
    const deadline = Deadline.in(60_000);
    const wall = jest.spyOn(Date, 'now').mockReturnValue(Date.now() - 3_600_000);
    try {
      expect(deadline.leftMs).toBeLessThanOrEqual(60_000);
    } finally {
      wall.mockRestore();
    }
  });

  it('never leaves more than a timer can wait: a longer one would fire at once', () => {
    expect(Deadline.in(Infinity).leftMs).toBeLessThanOrEqual(maxTimerMs);
    expect(Deadline.received(1e300, Number.MAX_SAFE_INTEGER).leftMs).toBeLessThanOrEqual(maxTimerMs);
  });

  it('is refused when its budget is no number', () => {
    expect(() => Deadline.in(Number.NaN)).toThrow(RangeError);
  });
});
