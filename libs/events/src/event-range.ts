import type { FeedEvent, FeedMessage, FeedPage, FeedPosition } from './event.js';

/** The events after a position, from a message or a page. */
export interface EventRange {
  readonly epoch: string;
  readonly after: FeedPosition;
  /** The number of the first event; greater than `after.seq + 1` when the feed no longer has the events between. */
  readonly next: number;
  /** The first number of `epoch`, if earlier events may belong to another one. */
  readonly epochBegins?: number | undefined;
  readonly events: readonly FeedEvent[];
}

/** What a log accepts of several ranges. */
export interface MergedRanges {
  /** With consecutive numbers. */
  readonly events: readonly FeedEvent[];
  /** The log's last number after accepting them. */
  readonly upTo: number;
  /** The epoch of the last range accepted, or the log's own if its events are older; undefined when none was accepted. */
  readonly epoch: string | undefined;
  /** The number at which the log continues after a gap: the feed has no events between. Undefined without a gap. */
  readonly resumesAt: number | undefined;
  /** False when a range began beyond the log's end, or after another event than the log's last: then ask the feed. */
  readonly isContiguous: boolean;
}

export const rangeOfPage = (after: FeedPosition, { epoch, epochBegins, next, events }: FeedPage): EventRange => ({
  epoch,
  epochBegins,
  after,
  next,
  events,
});

/** Empty for a message without events. */
export const rangesOfMessage = ({ epoch, after, events }: FeedMessage): EventRange[] =>
  events.length > 0 ? [{ epoch, after, next: after.seq + 1, events }] : [];

/**
 * Merges ranges that arrive late, twice, out of order or with gaps into what a log ending at `end` may append: only events
 * that follow an event which both the range and the log have. Comparing numbers alone would not suffice: a feed restored
 * from a backup assigns numbers again, and the log would continue in the other history and miss its beginning.
 * @param ownEpoch the log's; null while the log is empty, which then takes that of the first range
 */
export function mergeRanges(end: FeedPosition, ranges: readonly EventRange[], ownEpoch: string | null = null): MergedRanges {
  const events: FeedEvent[] = [];
  let last = end;
  let epoch: string | undefined;
  let resumesAt: number | undefined;
  let isContiguous = true;
  for (const range of [...ranges].sort((a, b) => a.after.seq - b.after.seq)) {
    const before = last;
    const common = range.after.seq === before.seq ? range.after : range.events.find((event) => event.seq === before.seq);
    if (!common && range.after.seq < before.seq) continue; // Late: the log has all of it.
    if (!common || common.id !== before.id) {
      isContiguous = false;
      break;
    }
    if (common === range.after && range.next > before.seq + 1) {
      resumesAt = range.next;
      last = { seq: range.next - 1 };
    }
    for (const event of range.events) {
      if (event.seq !== last.seq + 1) continue;
      events.push(event);
      last = event;
    }
    // A range without new events may belong to an epoch that has ended. An empty page does not: it is the feed's own answer.
    const hasNews = last !== before || range.events.length === 0;
    // A log that was behind when the epoch began gets the last events of its own epoch first.
    const isBehind = range.events.length > 0 && last.seq < (range.epochBegins ?? 0);
    if (hasNews) epoch = (isBehind ? ownEpoch : undefined) ?? range.epoch;
  }
  return { events, upTo: last.seq, epoch, resumesAt, isContiguous };
}
