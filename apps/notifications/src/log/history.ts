import { type Cursor, noEpoch } from './cursor.js';

/**
 * Where in the log a client is: the number of the last event that it has; a half more once it was told of the break that
 * comes after that number. So positions are ordered, and each break is told once.
 */
export type Position = number;

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
  readonly position: Position;
  readonly reason: BreakReason;
}

/** The epochs and gaps of the log: what cursors and positions mean. */
export class History {
  readonly breaks: readonly Break[];

  /** Both in ascending order. */
  constructor(
    private readonly epochs: readonly Epoch[],
    gaps: readonly Gap[],
  ) {
    const byPlace = new Map<Position, Break>();
    for (const { resumesAt } of gaps) byPlace.set(resumesAt - 0.5, { position: resumesAt - 0.5, reason: 'lost' });
    for (const { after } of epochs.slice(1)) {
      // A restore that cost us events is one break, not two.
      const position = (gaps.find((gap) => gap.after === after)?.resumesAt ?? after + 1) - 0.5;
      byPlace.set(position, { position, reason: 'restored' });
    }
    this.breaks = [...byPlace.values()].sort((a, b) => a.position - b.position);
  }

  get epoch(): string {
    return this.epochs.at(-1)?.epoch ?? noEpoch;
  }

  /** Breaks of (from, upTo]. */
  between(from: Position, upTo: Position): readonly Break[] {
    return this.breaks.filter(({ position }) => position > from && position <= upTo);
  }

  cursorAt(position: Position): Cursor {
    const seq = Math.floor(position);
    // At a half, the break was passed: that is the epoch which begins there.
    const epoch = this.epochs.findLast(({ after }) => (Number.isInteger(position) ? after < seq : after <= seq));
    return { epoch: (epoch ?? this.epochs[0])?.epoch ?? noEpoch, seq };
  }

  /** @returns undefined for a cursor of an epoch that this log never followed */
  positionOf({ epoch, seq }: Cursor): Position | undefined {
    if (epoch === noEpoch) return seq;
    const index = this.epochs.findIndex((one) => one.epoch === epoch);
    if (index === -1) return undefined;
    const told = this.breaks.find(({ position }) => {
      const cursor = this.cursorAt(position);
      return cursor.seq === seq && cursor.epoch === epoch;
    });
    // Where the client saw more of an old history than we have, it goes on with the next one.
    return told?.position ?? Math.min(seq, this.epochs[index + 1]?.after ?? Infinity);
  }
}
