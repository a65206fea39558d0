import { describe, expect, it } from '@jest/globals';
import { pauseBeforeNextTurn, roomOf, type Turn } from './turn.js';

const limits = { inFlight: 16, perSecond: 100, silentAttempts: 5, pauseMs: 5_000, longestPauseMs: 300_000 };
const turn = (given: Partial<Turn> = {}): Turn => ({
  webhookId: 'one',
  ownerId: 'owner',
  version: '1',
  isEnabled: true,
  url: 'https://receiver.test',
  tokens: 100,
  leased: 0,
  silentAttempts: 0,
  pausedForMs: 0,
  ...given,
});

describe('an endpoint whose turn it is', () => {
  it.each([
    ['its share of the free slots', turn(), 8, 8],
    ['what its claimed deliveries leave of its limit', turn({ leased: 13 }), 8, 3],
    ['what its rate limit allows', turn({ tokens: 2.9 }), 8, 2],
    ['one, when it is silent', turn({ silentAttempts: 5 }), 8, 1],
    ['nothing while that one is claimed', turn({ silentAttempts: 9, leased: 1 }), 8, 0],
    ['nothing while it is paused', turn({ pausedForMs: 1 }), 8, 0],
    ['nothing when it is disabled', turn({ isEnabled: false }), 8, 0],
    ['nothing when it has more claims than its limit', turn({ leased: 20 }), 8, 0],
  ])('gets %s', (_what, one, share, room) => {
    expect(roomOf(one, share, limits)).toBe(room);
  });

  it('has its next turn at once when only its share or its backlog was used up', () => {
    expect(pauseBeforeNextTurn(turn(), 8, 8, 8, limits)).toBe(0);
    expect(pauseBeforeNextTurn(turn(), 8, 3, 8, limits)).toBe(0);
  });

  it('waits for a token, for a free slot, for the end of its pause, or until it is enabled', () => {
    expect(pauseBeforeNextTurn(turn({ tokens: 2 }), 2, 2, 8, limits)).toBe(20);
    expect(pauseBeforeNextTurn(turn({ leased: 14 }), 2, 2, 8, limits)).toBe(250);
    expect(pauseBeforeNextTurn(turn({ pausedForMs: 700 }), 0, 0, 8, limits)).toBe(700);
    expect(pauseBeforeNextTurn(turn({ isEnabled: false }), 0, 0, 8, limits)).toBe(Infinity);
  });
});
