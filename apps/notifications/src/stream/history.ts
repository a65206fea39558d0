import { type Cursor, noEpoch } from './cursor.js';

/**
 * Where in the log a client is: the number of the last event that it has; a half more once it was told of the break that
 * comes after that number. So places are ordered, and each break is told once.
 */
export type Place = number;

/** An epoch that the log has followed, and the last number before it. */
export interface Epoch {
  readonly epoch: string;
  readonly after: number;
}

/** Numbers that no event has: from the one after `after` up to the one before `resumesAt`. */
export interface Gap {
  readonly after: number;
  readonly resumesAt: number;
}

/**
 * - `restored`: the shop's orders were restored from a backup; what clients saw before may be undone.
 * - `lost`: events were dropped, or lost, before they came into the log.
 */
export type BreakReason = 'restored' | 'lost';

/** Between two events of the log: what is true on one side may not be what led to the other. */
export interface Break {
  readonly place: Place;
  readonly reason: BreakReason;
}

/** The epochs and gaps of the log: what cursors and places mean. */
export class History {
  readonly breaks: readonly Break[];

  /** Both in ascending order. */
  constructor(
    private readonly epochs: readonly Epoch[],
    gaps: readonly Gap[],
  ) {
    const byPlace = new Map<Place, Break>();
    for (const { resumesAt } of gaps) byPlace.set(resumesAt - 0.5, { place: resumesAt - 0.5, reason: 'lost' });
    for (const { after } of epochs.slice(1)) {
      // A restore that cost us events is one break, not two.
      const place = (gaps.find((gap) => gap.after === after)?.resumesAt ?? after + 1) - 0.5;
      byPlace.set(place, { place, reason: 'restored' });
    }
    this.breaks = [...byPlace.values()].sort((a, b) => a.place - b.place);
  }

  get epoch(): string {
    return this.epochs.at(-1)?.epoch ?? noEpoch;
  }

  /** Breaks of (from, upTo]. */
  between(from: Place, upTo: Place): readonly Break[] {
    return this.breaks.filter(({ place }) => place > from && place <= upTo);
  }

  cursorAt(place: Place): Cursor {
    const seq = Math.floor(place);
    // At a half, the break was passed: that is the epoch which begins there.
    const epoch = this.epochs.findLast(({ after }) => (Number.isInteger(place) ? after < seq : after <= seq));
    return { epoch: (epoch ?? this.epochs[0])?.epoch ?? noEpoch, seq };
  }

  /** @returns undefined for a cursor of an epoch that this log never followed */
  placeOf({ epoch, seq }: Cursor): Place | undefined {
    if (epoch === noEpoch) return seq;
    const index = this.epochs.findIndex((one) => one.epoch === epoch);
    if (index === -1) return undefined;
    const told = this.breaks.find(({ place }) => {
      const cursor = this.cursorAt(place);
      return cursor.seq === seq && cursor.epoch === epoch;
    });
    // Where the client saw more of an old history than we have, it goes on with the next one.
    return told?.place ?? Math.min(seq, this.epochs[index + 1]?.after ?? Infinity);
  }
}
