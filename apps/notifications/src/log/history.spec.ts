import { describe, expect, it } from '@jest/globals';
import { History, noEpoch } from './history.js';

const first = { epoch: 'first', after: 0 };
const second = { epoch: 'second', after: 100 };

describe('the history of the log', () => {
  it.each([
    ['one epoch', new History([first], [])],
    ['a restore', new History([first, second], [])],
    ['a gap', new History([first], [{ after: 90, resumesAt: 101, nothingLost: false }])],
    ['a restore that lost events', new History([first, { epoch: 'second', after: 90 }], [{ after: 90, resumesAt: 101, nothingLost: false }])],
    ['a restore right after a gap', new History([first, second], [{ after: 90, resumesAt: 101, nothingLost: false }])],
  ])('translates every position to a cursor and back: %s', (_, history) => {
    const positions = [1, 50, 90, ...history.breaks.map(({ position }) => position), 101, 150];
    for (const position of positions) expect(history.positionOf(history.cursorAt(position))).toBe(position);
  });

  it('has one break for a restore that lost events', () => {
    const history = new History([first, { epoch: 'second', after: 90 }], [{ after: 90, resumesAt: 101, nothingLost: false }]);
    expect(history.between(0, 200)).toEqual([{ position: 100.5, reason: 'restored' }]);
    expect(history.between(90, 100)).toEqual([]);
    expect(history.between(100.5, 200)).toEqual([]);
  });

  it('has no break for a failover that lost nothing, and knows who has seen what another one lost', () => {
    const gap = { after: 90, resumesAt: 1_001, nothingLost: true };
    const epochs = [first, { epoch: 'second', after: 90 }];
    const history = new History(epochs, [gap]);
    expect(history.breaks).toEqual([]);
    expect(new History(epochs, [gap], true).breaks).toEqual([{ position: 1_000.5, reason: 'restored' }]);
    expect(history.positionOf({ epoch: 'first', seq: 95 })).toBe(90);
    for (const [epoch, seq, isLost] of [
      ['first', 90, false],
      ['first', 91, true],
      ['first', 1_000, true],
      // A page that ends between the events around the gap.
      ['second', 500, false],
      ['second', 1_001, false],
    ] as const) {
      expect(history.hasLost({ epoch, seq })).toBe(isLost);
    }
  });

  it('moves a cursor beyond the end of an old epoch to the start of the next one', () => {
    expect(new History([first, second], []).positionOf({ epoch: 'first', seq: 130 })).toBe(100);
  });

  it('has no position for epochs that it never followed, and the beginning for cursors without an epoch', () => {
    expect(new History([first], []).positionOf({ epoch: 'other', seq: 5 })).toBeUndefined();
    expect(new History([], []).cursorAt(0)).toEqual({ epoch: noEpoch, seq: 0 });
    expect(new History([first], []).positionOf({ epoch: noEpoch, seq: 0 })).toBe(0);
  });
});
