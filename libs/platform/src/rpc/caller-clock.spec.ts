import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { CallerClock } from './caller-clock.js';

const budgetMs = 2_000;

/** A caller whose clock shows ours minus `offset`; times are ours. */
function callerAt(offset: number): {
  clock: CallerClock;
  measure: (asked: number, heard?: number) => void;
  frame: (sent: number, read: number) => { judged: boolean; ageMs: number };
} {
  const clock = new CallerClock();
  return {
    clock,
    measure: (asked, heard = asked + 2) => clock.measured(asked, (asked + heard) / 2 - offset, heard),
    frame: (sent, read) => {
      const theirs = sent - offset;
      return { judged: clock.hear(read, theirs, theirs + budgetMs), ageMs: read - theirs - clock.offsetMs };
    },
  };
}

describe('the clock of a caller', () => {
  it.each([0, 1_500, -1_500, 600_000, -600_000, 1e9])('may differ by %i ms: the age of a frame is what it is', (offset) => {
    const { measure, frame } = callerAt(offset);
    measure(0);
    const { judged, ageMs } = frame(5_000, 5_500);
    expect(judged).toBe(true);
    expect(ageMs).toBeGreaterThan(495);
    expect(ageMs).toBeLessThanOrEqual(500);
  });

  it('is not relied on before it was measured: the first frame may have waited in a socket', () => {
    const { measure, frame } = callerAt(1_500);
    expect(frame(0, 10_000).judged).toBe(false);
    measure(10_000);
    const { judged, ageMs } = frame(0, 10_001);
    expect(judged).toBe(true);
    expect(ageMs).toBeGreaterThan(9_990);
  });

  it('is measured once more before a frame is late by it, unless it was just measured', () => {
    const { measure, frame } = callerAt(0);
    measure(0);
    expect(frame(20_000, 20_000 + budgetMs - 10).judged).toBe(true);
    expect(frame(20_000, 20_000 + budgetMs + 10).judged).toBe(false);
    measure(22_020);
    expect(frame(20_000, 22_030).judged).toBe(true);
    expect(frame(20_000, 23_100).judged).toBe(false);
  });

  it('is measured once more when a frame seems to be sent in the future: our host was suspended', () => {
    const { clock, measure } = callerAt(0);
    measure(0);
    // For 10 s our clock stood still. A frame was sent 9 s before it was read.
    const theirs = 20_000 + 1_000;
    expect(clock.hear(20_000, theirs, theirs + budgetMs)).toBe(false);
    clock.measured(20_000, 20_000 + 10_000, 20_001);
    expect(clock.hear(20_002, theirs, theirs + budgetMs)).toBe(true);
    expect(20_002 - theirs - clock.offsetMs).toBeGreaterThan(8_900);
  });

  it('is followed when it drifts: a bound from before the last measurement is forgotten', () => {
    const { clock } = callerAt(0);
    clock.measured(0, 0, 1);
    clock.hear(2, 2, 2_002);
    expect(clock.offsetMs).toBe(0);
    // 30 s later the caller's clock is 15 ms behind.
    clock.measured(30_000, 29_985, 30_001);
    expect(clock.offsetMs).toBe(16);
    expect(clock.needsMeasuring(59_000)).toBe(false);
    expect(clock.needsMeasuring(60_001)).toBe(true);
  });

  it('of the release before is bounded by its freshest frame', () => {
    const { clock, frame } = callerAt(1_500);
    expect(frame(1_000, 1_400).judged).toBe(false);
    clock.unanswered(1_650);
    expect(frame(2_000, 2_010)).toEqual({ judged: true, ageMs: 0 });
    expect(frame(3_000, 3_900)).toEqual({ judged: true, ageMs: 890 });
    expect(frame(5_000, 5_000 + budgetMs + 20).judged).toBe(false);
    clock.unanswered(7_300);
    expect(frame(5_000, 7_310).ageMs).toBeGreaterThan(budgetMs);
  });

  it('of the release before may be set back: the frames from before count for a minute at most', () => {
    const { clock, frame } = callerAt(0);
    frame(0, 0);
    clock.unanswered(250);
    frame(30_000, 30_001);
    clock.unanswered(30_300);
    // It is set back by ten seconds: its frames look ten seconds old.
    expect(frame(31_000 - 10_000, 31_001).ageMs).toBeGreaterThan(9_000);
    clock.unanswered(31_300);
    frame(62_000 - 10_000, 62_001);
    clock.unanswered(62_300);
    frame(93_000 - 10_000, 93_001);
    clock.unanswered(93_300);
    expect(frame(93_400 - 10_000, 93_401).ageMs).toBeLessThan(10);
  });

  it('keeps what was measured when the caller falls silent', () => {
    const { clock, measure, frame } = callerAt(700);
    measure(0);
    clock.unanswered(60_000);
    expect(frame(50_000, 60_100).ageMs).toBeGreaterThan(10_000);
  });

  it('makes no frame older than it is, and none younger by more than the round trip, whatever the delays', () => {
    const delay = fc.double({ min: 0, max: 5_000, noNaN: true });
    const there = fc.double({ min: 0, max: 125, noNaN: true });
    fc.assert(
      fc.property(fc.double({ min: -1e7, max: 1e7, noNaN: true }), there, there, fc.array(delay, { maxLength: 30 }), (offset, out, back, delays) => {
        const clock = new CallerClock();
        clock.measured(0, out - offset, out + back);
        delays.forEach((ms, n) => {
          const read = 1_000 + n * 500 + ms;
          const sent = read - ms - offset;
          clock.hear(read, sent, sent + 1e9);
          const age = read - sent - clock.offsetMs;
          expect(age).toBeLessThanOrEqual(ms + 1e-6);
          expect(age).toBeGreaterThanOrEqual(ms - out - back - 1e-6);
        });
      }),
    );
  });
});
