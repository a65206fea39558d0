import { describe, expect, it } from '@jest/globals';
import { pauseAfter } from '../queue/turn.js';
import { AgreedTime, maxRetryAfterMs, retryAfterMs } from './schedule.js';

const now = new Date('2027-03-01T08:00:00.000Z');

describe('the schedule', () => {
  it('has ten attempts: at once, and 5 s, 5 min, 30 min, 2, 5, 10, 14, 20 and 24 h after the previous one', () => {
    const pauses = Array.from({ length: 10 }, (_, n) => pauseAfter(n + 1, 1, 0.5));
    expect(pauses).toEqual([5_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 50_400_000, 72_000_000, 86_400_000, undefined]);
  });

  it('varies a pause by a tenth, and scales it', () => {
    expect(pauseAfter(1, 1, 0)).toBeCloseTo(4_500);
    expect(pauseAfter(1, 1, 1)).toBeCloseTo(5_500);
    expect(pauseAfter(1, 0.001, 0.5)).toBeCloseTo(5);
  });
});

describe('Retry-After', () => {
  it.each([
    ['120', 120_000],
    ['0', 0],
    ['Mon, 01 Mar 2027 08:01:00 GMT', 60_000],
    ['Monday, 01-Mar-27 08:01:00 GMT', 60_000],
    ['Mon, 01 Mar 2027 07:00:00 GMT', 0],
    ['999999999999', maxRetryAfterMs],
    ['Mon, 01 Mar 2099 08:00:00 GMT', maxRetryAfterMs],
  ])('%s is %d ms', (header, ms) => {
    expect(retryAfterMs(header, now)).toBe(ms);
  });

  it.each([undefined, '', '-5', '1.5', 'soon', '2027-03-01', '1e9', 'Mon, 99 Foo 2027'])('%s is ignored', (header) => {
    expect(retryAfterMs(header, now)).toBeUndefined();
  });
});

describe('the time of signatures', () => {
  const [start, step] = [1_900_000_000_000, 600_000];
  /** How wrong each clock is. */
  let [identity, host, elapsed] = [0, 0, 0];
  const time = (): AgreedTime => {
    [identity, host, elapsed] = [0, 0, 0];
    return new AgreedTime(() => start + elapsed + identity, () => start + elapsed + host, () => elapsed);
  };
  const errorOf = (one: AgreedTime): number => one.now().getTime() - start - elapsed;

  it.each([-step, step])('is right while either clock is wrong by %i ms', (wrong) => {
    const one = time();
    expect(errorOf(one)).toBe(0);
    for ([identity, host] of [[wrong, 0], [0, 0], [0, wrong]] as const) {
      elapsed += 10_000;
      expect(errorOf(one)).toBe(0);
    }
  });

  it("is identity's until both clocks have agreed, and after an hour without that", () => {
    const one = time();
    host = step;
    expect(errorOf(one)).toBe(0);
    [identity, host] = [-step, 0];
    expect(errorOf(one)).toBe(-step);
    [identity, host] = [0, 0];
    one.now();
    [identity, host] = [-step, step];
    elapsed = 3_599_999;
    expect(errorOf(one)).toBe(0);
    elapsed = 3_600_000;
    expect(errorOf(one)).toBe(-step);
  });
});
