import { describe, expect, it, jest } from '@jest/globals';
import { Deadline, maxTimerMs, processNow } from './context.js';

describe('a deadline', () => {
  it('leaves its budget, rounded down to whole milliseconds', () => {
    const { leftMs } = Deadline.in(60_000);
    expect(leftMs).toBeLessThanOrEqual(60_000);
    expect(leftMs).toBeGreaterThan(30_000);
    expect(Number.isInteger(Deadline.in(1.5).at)).toBe(true);
  });

  it('is past when its budget is used up, zero or negative', () => {
    expect(Deadline.in(0).isPast).toBe(true);
    expect(Deadline.in(-5).leftMs).toBe(0);
    expect(Deadline.at(processNow() - 1).isPast).toBe(true);
    expect(Deadline.at(-Infinity).isPast).toBe(true);
  });

  it.each([-3_600_000, 3_600_000])('does not move when the host sets its clock by %i ms', (step) => {
    const deadline = Deadline.in(60_000);
    const wall = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + step);
    try {
      expect(deadline.leftMs).toBeLessThanOrEqual(60_000);
      expect(deadline.leftMs).toBeGreaterThan(30_000);
      expect(Math.abs(Deadline.in(60_000).at - deadline.at)).toBeLessThan(10_000);
    } finally {
      wall.mockRestore();
    }
  });

  it('never leaves more than the longest timer delay: a longer timer would fire at once', () => {
    expect(Deadline.in(Infinity).leftMs).toBeLessThanOrEqual(maxTimerMs);
    expect(Deadline.at(Number.MAX_SAFE_INTEGER).leftMs).toBeLessThanOrEqual(maxTimerMs);
  });

  it('is refused when its budget is NaN', () => {
    expect(() => Deadline.in(Number.NaN)).toThrow(RangeError);
  });
});
