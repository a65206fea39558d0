import { describe, expect, it } from '@jest/globals';
import { pauseAfter, pauseBeforeNextTurn, roomOf, type Turn } from './turn.js';

const limits = { inFlight: 16, perSecond: 100, silentAttempts: 5, pauseMs: 5_000, longestPauseMs: 300_000 };
const turn = (given: Partial<Turn> = {}): Turn => ({
  webhookId: 'one',
  ownerId: 'owner',
  version: '1',
  isEnabled: true,
  url: 'https://receiver.test',
  host: 'receiver.test',
  secrets: [],
  oldestSecret: null,
  tokens: 100,
  leased: 0,
  silentAttempts: 0,
  pausedForMs: 0,
  ...given,
});

describe('an endpoint whose turn it is', () => {
  it.each([
    ['its limit of concurrent attempts', turn(), 16],
    ['what its claimed deliveries leave of its limit', turn({ leased: 13 }), 3],
    ['what its rate limit allows', turn({ tokens: 2.9 }), 2],
    ['one, when it is silent', turn({ silentAttempts: 5 }), 1],
    ['nothing while that one is claimed', turn({ silentAttempts: 9, leased: 1 }), 0],
    ['nothing while it is paused', turn({ pausedForMs: 1 }), 0],
    ['nothing when it is disabled', turn({ isEnabled: false }), 0],
    ['nothing when it has more claims than its limit', turn({ leased: 20 }), 0],
  ])('may claim %s', (_what, one, room) => {
    expect(roomOf(one, limits)).toBe(room);
  });

  it('has its next turn at once when only its share or its backlog was used up', () => {
    expect(pauseBeforeNextTurn(turn(), 16, 8, 8, limits)).toBe(0);
    expect(pauseBeforeNextTurn(turn(), 8, 8, 3, limits)).toBe(0);
  });

  it('waits for a token, for a free slot, for the end of its pause, or until it is enabled', () => {
    expect(pauseBeforeNextTurn(turn({ tokens: 2 }), 2, 2, 2, limits)).toBe(20);
    expect(pauseBeforeNextTurn(turn({ leased: 14 }), 2, 2, 2, limits)).toBe(250);
    expect(pauseBeforeNextTurn(turn({ leased: 16 }), 0, 0, 0, limits)).toBe(250);
    expect(pauseBeforeNextTurn(turn({ pausedForMs: 700 }), 0, 0, 0, limits)).toBe(700);
    expect(pauseBeforeNextTurn(turn({ isEnabled: false }), 0, 0, 0, limits)).toBe(Infinity);
  });
});

describe('the schedule of attempts', () => {
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
