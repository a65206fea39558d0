import type { FeedEvent, FeedNudge, FeedPage, FeedPosition } from './event.js';

/** Events that follow on a place, as a nudge or a page tells them. */
export interface EventRange {
  readonly epoch: string;
  readonly after: FeedPosition;
  /** The number of the first; more than the place's next where the feed has nothing in between. */
  readonly next: number;
  readonly events: readonly FeedEvent[];
}

/** What a log takes of stretches. */
export interface MergedRanges {
  /** In ascending order without a hole. */
  readonly events: readonly FeedEvent[];
  /** The log's last number with them. */
  readonly upTo: number;
  /** Of the last stretch that was taken; undefined when none was. */
  readonly epoch: string | undefined;
  /** The log goes on at this number: in between, the feed has nothing. */
  readonly resumesAt: number | undefined;
  /** None began beyond the log's end, or after another event than the log's last. Otherwise the feed must be asked. */
  readonly isContiguous: boolean;
}

export const rangeOfPage = (after: FeedPosition, { epoch, next, events }: FeedPage): EventRange => ({ epoch, after, next, events });

/** Nothing without events, and nothing from an owner of the release before, who does not say what they follow on. */
export const rangesOfNudge = ({ epoch, after, events }: FeedNudge): EventRange[] =>
  after && events.length > 0 ? [{ epoch, after, next: after.seq + 1, events }] : [];

/**
 * What a log that ends at a place takes of stretches that came late, twice, in any order or with holes: only what follows
 * on an event that both have. Numbers alone would not do. A feed that was restored from a backup gives numbers again, and
 * the log would go on in the other history without what it begins with.
 */
export function mergeRanges(end: FeedPosition, stretches: readonly EventRange[]): MergedRanges {
  const events: FeedEvent[] = [];
  let last = end;
  let epoch: string | undefined;
  let resumesAt: number | undefined;
  let fits = true;
  for (const stretch of [...stretches].sort((a, b) => a.after.seq - b.after.seq)) {
    const at = last;
    const same = stretch.after.seq === at.seq ? stretch.after : stretch.events.find((event) => event.seq === at.seq);
    if (!same && stretch.after.seq < at.seq) continue; // Late: all of it is in the log.
    if (!same || same.id !== at.id) {
      fits = false;
      break;
    }
    if (same === stretch.after && stretch.next > at.seq + 1) {
      resumesAt = stretch.next;
      last = { seq: stretch.next - 1 };
    }
    for (const event of stretch.events) {
      if (event.seq !== last.seq + 1) continue;
      events.push(event);
      last = event;
    }
    // One that brings nothing new may be of an epoch that is over, unless it is what the feed itself says comes next.
    if (last !== at || stretch.events.length === 0) epoch = stretch.epoch;
  }
  return { events, upTo: last.seq, epoch, resumesAt, isContiguous: fits };
}
