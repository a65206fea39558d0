import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { CallerClock } from './caller-clocks.js';

const budgetMs = 2_000;

/** A caller whose clock shows ours minus `offset`. All times are by our clock. */
function callerAt(offset: number): {
  clock: CallerClock;
  measure: (sentAt: number, receivedAt?: number) => void;
  batch: (sent: number, read: number) => { isReliable: boolean; ageMs: number };
} {
  const clock = new CallerClock();
  return {
    clock,
    measure: (sentAt, receivedAt = sentAt + 2) => clock.recordMeasurement(sentAt, (sentAt + receivedAt) / 2 - offset, receivedAt),
    batch: (sent, read) => {
      const theirs = sent - offset;
      return { isReliable: clock.boundOffset(read, theirs, theirs + budgetMs), ageMs: read - theirs - clock.offsetMs };
    },
  };
}

describe("a caller's clock", () => {
  it.each([0, 1_500, -1_500, 600_000, -600_000, 1e9])('may differ by %i ms without affecting the age of a batch', (offset) => {
    const { measure, batch } = callerAt(offset);
    measure(0);
    const { isReliable, ageMs } = batch(5_000, 5_500);
    expect(isReliable).toBe(true);
    expect(ageMs).toBeGreaterThan(495);
    expect(ageMs).toBeLessThanOrEqual(500);
  });

  it('is not relied on before its first measurement: the first batch may have waited in a socket', () => {
    const { measure, batch } = callerAt(1_500);
    expect(batch(0, 10_000).isReliable).toBe(false);
    measure(10_000);
    const { isReliable, ageMs } = batch(0, 10_001);
    expect(isReliable).toBe(true);
    expect(ageMs).toBeGreaterThan(9_990);
  });

  it('is measured again before a batch counts as late, unless it was just measured', () => {
    const { measure, batch } = callerAt(0);
    measure(0);
    expect(batch(20_000, 20_000 + budgetMs - 10).isReliable).toBe(true);
    expect(batch(20_000, 20_000 + budgetMs + 10).isReliable).toBe(false);
    measure(22_020);
    expect(batch(20_000, 22_030).isReliable).toBe(true);
    expect(batch(20_000, 23_100).isReliable).toBe(false);
  });

  it('is measured again when a batch seems to come from the future, since our host was suspended', () => {
    const { clock, measure } = callerAt(0);
    measure(0);
    // Our clock stopped for 10 s. A batch was sent 9 s before it was read.
    const theirs = 20_000 + 1_000;
    expect(clock.boundOffset(20_000, theirs, theirs + budgetMs)).toBe(false);
    clock.recordMeasurement(20_000, 20_000 + 10_000, 20_001);
    expect(clock.boundOffset(20_002, theirs, theirs + budgetMs)).toBe(true);
    expect(20_002 - theirs - clock.offsetMs).toBeGreaterThan(8_900);
  });

  it('is followed when it drifts: a measurement replaces older bounds', () => {
    const { clock } = callerAt(0);
    clock.recordMeasurement(0, 0, 1);
    clock.boundOffset(2, 2, 2_002);
    expect(clock.offsetMs).toBe(0);
    // 30 s later the caller's clock is 15 ms behind.
    clock.recordMeasurement(30_000, 29_985, 30_001);
    expect(clock.offsetMs).toBe(16);
    expect(clock.needsMeasuring(59_000)).toBe(false);
    expect(clock.needsMeasuring(60_001)).toBe(true);
  });

  it('of a caller that never replies is bounded by its freshest batch', () => {
    const { clock, batch } = callerAt(1_500);
    expect(batch(1_000, 1_400).isReliable).toBe(false);
    clock.recordNoReply(1_650);
    expect(batch(2_000, 2_010)).toEqual({ isReliable: true, ageMs: 0 });
    expect(batch(3_000, 3_900)).toEqual({ isReliable: true, ageMs: 890 });
    expect(batch(5_000, 5_000 + budgetMs + 20).isReliable).toBe(false);
    clock.recordNoReply(7_300);
    expect(batch(5_000, 7_310).ageMs).toBeGreaterThan(budgetMs);
  });

  it('of a caller that never replies may be set back: older batches count for a minute at most', () => {
    const { clock, batch } = callerAt(0);
    batch(0, 0);
    clock.recordNoReply(250);
    batch(30_000, 30_001);
    clock.recordNoReply(30_300);
    // The host's clock is set back by ten seconds: the batches look ten seconds old.
    expect(batch(31_000 - 10_000, 31_001).ageMs).toBeGreaterThan(9_000);
    clock.recordNoReply(31_300);
    batch(62_000 - 10_000, 62_001);
    clock.recordNoReply(62_300);
    batch(93_000 - 10_000, 93_001);
    clock.recordNoReply(93_300);
    expect(batch(93_400 - 10_000, 93_401).ageMs).toBeLessThan(10);
  });

  it('keeps its measured offset when the caller stops replying', () => {
    const { clock, measure, batch } = callerAt(700);
    measure(0);
    clock.recordNoReply(60_000);
    expect(batch(50_000, 60_100).ageMs).toBeGreaterThan(10_000);
  });

  it('never overestimates the age of a batch, and underestimates it by at most the round trip, for any delays', () => {
    const delay = fc.double({ min: 0, max: 5_000, noNaN: true });
    const there = fc.double({ min: 0, max: 125, noNaN: true });
    fc.assert(
      fc.property(fc.double({ min: -1e7, max: 1e7, noNaN: true }), there, there, fc.array(delay, { maxLength: 30 }), (offset, out, back, delays) => {
        const clock = new CallerClock();
        clock.recordMeasurement(0, out - offset, out + back);
        delays.forEach((ms, n) => {
          const read = 1_000 + n * 500 + ms;
          const sent = read - ms - offset;
          clock.boundOffset(read, sent, sent + 1e9);
          const age = read - sent - clock.offsetMs;
          expect(age).toBeLessThanOrEqual(ms + 1e-6);
          expect(age).toBeGreaterThanOrEqual(ms - out - back - 1e-6);
        });
      }),
    );
  });
});
