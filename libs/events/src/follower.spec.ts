import { describe, expect, it } from '@jest/globals';
import type { FeedEvent } from './feed.js';
import { type EventRange, mergeRanges } from './follower.js';

const event = (seq: number, history = 'a'): FeedEvent => ({ seq, id: `${history}${seq}`, subject: 's', body: '{}' });
/** Events `from` to `to`, of history `b` from `fork` on and of history `a` before. */
const range = (from: number, to: number, fork = Infinity): EventRange => {
  const at = (seq: number): FeedEvent => event(seq, seq < fork ? 'a' : 'b');
  return {
    epoch: 'e',
    after: from === 1 ? { seq: 0 } : { seq: from - 1, id: at(from - 1).id },
    next: from,
    events: Array.from({ length: to - from + 1 }, (_, n) => at(from + n)),
  };
};
const seqs = (events: readonly FeedEvent[]): number[] => events.map(({ seq }) => seq);
const nothing = { events: [], epoch: undefined, resumesAt: undefined, nothingLost: false };
const at4 = { seq: 4, id: 'a4' };

describe('merging ranges into a log', () => {
  it('accepts each event after its end once, from several ranges in any order', () => {
    const merged = mergeRanges(at4, [range(7, 9), range(5, 6), range(5, 8), range(2, 5)]);
    expect(seqs(merged.events)).toEqual([5, 6, 7, 8, 9]);
    expect(merged).toMatchObject({ upTo: 9, epoch: 'e', isContiguous: true, resumesAt: undefined });
  });

  it('begins with the first event', () => {
    expect(seqs(mergeRanges({ seq: 0 }, [range(1, 3)]).events)).toEqual([1, 2, 3]);
  });

  it('accepts nothing beyond missing events', () => {
    expect(mergeRanges(at4, [range(6, 8)])).toEqual({ ...nothing, upTo: 4, isContiguous: false });
    const merged = mergeRanges(at4, [range(8, 9), range(5, 6)]);
    expect(seqs(merged.events)).toEqual([5, 6]);
    expect(merged.isContiguous).toBe(false);
  });

  it('ignores ranges that arrive late', () => {
    for (const late of [range(1, 3), range(2, 4), range(4, 4)]) {
      expect(mergeRanges(at4, [late])).toEqual({ ...nothing, upTo: 4, isContiguous: true });
    }
  });

  it.each([
    ['whose event at its end differs', range(3, 6, 3)],
    ['whose event before the first new one differs', range(5, 6, 4)],
  ])('accepts nothing of another history, %s', (_, other) => {
    expect(mergeRanges(at4, [other])).toEqual({ ...nothing, upTo: 4, isContiguous: false });
  });

  it('stops at a range of another history than the range before', () => {
    const merged = mergeRanges(at4, [range(5, 6), range(7, 9, 6)]);
    expect(merged.events.map(({ id }) => id)).toEqual(['a5', 'a6']);
    expect(merged).toMatchObject({ upTo: 6, isContiguous: false });
  });

  it('skips numbers only where the feed says that it has no events', () => {
    const page = { ...range(9, 10), after: at4 };
    expect(mergeRanges(at4, [page])).toMatchObject({ upTo: 10, resumesAt: 9, isContiguous: true });
    expect(mergeRanges(at4, [{ ...page, events: [] }])).toMatchObject({ upTo: 8, resumesAt: 9, isContiguous: true });
    expect(mergeRanges({ seq: 5, id: 'a5' }, [page])).toMatchObject({ ...nothing, upTo: 5 });
    for (const nothingLost of [true, false]) expect(mergeRanges(at4, [{ ...page, nothingLost }]).nothingLost).toBe(nothingLost);
  });

  it("keeps the log's epoch for events from before the page's", () => {
    const page = { ...range(5, 6), epochBegins: 9 };
    expect(mergeRanges(at4, [page], 'own').epoch).toBe('own');
    expect(mergeRanges(at4, [page]).epoch).toBe('e');
    expect(mergeRanges(at4, [{ ...range(9, 10), after: at4, epochBegins: 9 }], 'own')).toMatchObject({ epoch: 'e', resumesAt: 9 });
    for (const [epochBegins, epoch] of [[5, 'e'], [6, 'e'], [7, 'own']] as const) expect(mergeRanges(at4, [{ ...page, epochBegins }], 'own').epoch).toBe(epoch);
    expect(mergeRanges(at4, [{ ...page, events: [], epochBegins: 9 }], 'own').epoch).toBe('e');
  });

  it('that ends with a gap accepts the page that the feed sends for it, but no message after an event', () => {
    const gap = { seq: 8 };
    expect(mergeRanges(gap, [{ ...range(9, 10), after: gap }])).toMatchObject({ upTo: 10, resumesAt: undefined });
    expect(mergeRanges(gap, [range(9, 10)])).toMatchObject({ upTo: 8, isContiguous: false });
  });
});
