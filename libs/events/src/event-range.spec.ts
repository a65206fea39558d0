import { describe, expect, it } from '@jest/globals';
import type { FeedEvent } from './event.js';
import { type EventRange, mergeRanges } from './event-range.js';

const event = (seq: number, history = 'a'): FeedEvent => ({ seq, id: `${history}${seq}`, subject: 's', body: '{}' });
/** Events from a number to another one, of a history that is `b` from `turn` on. */
const stretch = (from: number, to: number, turn = Infinity): EventRange => {
  const of = (seq: number): FeedEvent => event(seq, seq < turn ? 'a' : 'b');
  return {
    epoch: 'e',
    after: from === 1 ? { seq: 0 } : { seq: from - 1, id: of(from - 1).id },
    next: from,
    events: Array.from({ length: to - from + 1 }, (_, n) => of(from + n)),
  };
};
const seqs = (events: readonly FeedEvent[]): number[] => events.map(({ seq }) => seq);
const nothing = { events: [], epoch: undefined, resumesAt: undefined };
const at4 = { seq: 4, id: 'a4' };

describe('what a log takes', () => {
  it('follows on its end, from several stretches in any order, each event once', () => {
    const taken = mergeRanges(at4, [stretch(7, 9), stretch(5, 6), stretch(5, 8), stretch(2, 5)]);
    expect(seqs(taken.events)).toEqual([5, 6, 7, 8, 9]);
    expect(taken).toMatchObject({ upTo: 9, epoch: 'e', fits: true, resumesAt: undefined });
  });

  it('begins with the first event', () => {
    expect(seqs(mergeRanges({ seq: 0 }, [stretch(1, 3)]).events)).toEqual([1, 2, 3]);
  });

  it('is nothing beyond a hole', () => {
    expect(mergeRanges(at4, [stretch(6, 8)])).toEqual({ ...nothing, upTo: 4, fits: false });
    const taken = mergeRanges(at4, [stretch(8, 9), stretch(5, 6)]);
    expect(seqs(taken.events)).toEqual([5, 6]);
    expect(taken.isContiguous).toBe(false);
  });

  it('is nothing of what came late', () => {
    for (const late of [stretch(1, 3), stretch(2, 4), stretch(4, 4)]) {
      expect(mergeRanges(at4, [late])).toEqual({ ...nothing, upTo: 4, fits: true });
    }
  });

  it.each([
    ['at its end', stretch(3, 6, 3)],
    ['right before what is new', stretch(5, 6, 4)],
  ])('is nothing of another history %s', (_, other) => {
    expect(mergeRanges(at4, [other])).toEqual({ ...nothing, upTo: 4, fits: false });
  });

  it('stops where one stretch has another history than the one before', () => {
    const taken = mergeRanges(at4, [stretch(5, 6), stretch(7, 9, 6)]);
    expect(taken.events.map(({ id }) => id)).toEqual(['a5', 'a6']);
    expect(taken).toMatchObject({ upTo: 6, fits: false });
  });

  it('goes on after numbers that the feed does not have, and only then', () => {
    const page = { ...stretch(9, 10), after: at4 };
    expect(mergeRanges(at4, [page])).toMatchObject({ upTo: 10, resumesAt: 9, fits: true });
    expect(mergeRanges(at4, [{ ...page, events: [] }])).toMatchObject({ upTo: 8, resumesAt: 9, fits: true });
    expect(mergeRanges({ seq: 5, id: 'a5' }, [page])).toMatchObject({ ...nothing, upTo: 5 });
  });

  it('of a log that ends with a gap, is what the feed says to it, and no nudge after an event', () => {
    const gap = { seq: 8 };
    expect(mergeRanges(gap, [{ ...stretch(9, 10), after: gap }])).toMatchObject({ upTo: 10, resumesAt: undefined });
    expect(mergeRanges(gap, [stretch(9, 10)])).toMatchObject({ upTo: 8, fits: false });
  });
});
