/** A position in the log, as clients store it: the epoch of the log and the number of the last event that the client has. */
export interface Cursor {
  readonly epoch: string;
  readonly seq: number;
}

/** The epoch of a log that follows no feed yet. A position in it is the beginning of any log. */
export const noEpoch = '00000000-0000-0000-0000-000000000000';

/** Stored in the first of the 24 bytes, which is always 0 in a number below 2^53. */
const version = 1;
const encodedCursor = /^[\w-]{32}$/;

export function encodeCursor({ epoch, seq }: Cursor): string {
  const bytes = Buffer.alloc(24);
  bytes.writeBigUInt64BE(BigInt(seq));
  bytes[0] = version;
  bytes.write(epoch.replaceAll('-', ''), 8, 'hex');
  return bytes.toString('base64url');
}

/** Returns undefined for any text that `encodeCursor` cannot have produced. */
export function decodeCursor(text: string): Cursor | undefined {
  if (!encodedCursor.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64url');
  if (bytes[0] !== version) return undefined;
  bytes[0] = 0;
  const seq = Number(bytes.readBigUInt64BE());
  if (!Number.isSafeInteger(seq)) return undefined;
  const epoch = bytes.toString('hex', 8).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  return { epoch, seq };
}

/**
 * A client's position in the log: the number of the last event that it has. A half-integer position means that the gap notice
 * after that event was sent. So positions are ordered, and each gap notice is sent once.
 */
export type Position = number;

/** An epoch that the log has followed; its events have numbers above `after`. */
export interface Epoch {
  readonly epoch: string;
  readonly after: number;
}

/** Numbers without an event: those between `after` and `resumesAt`, both exclusive. */
export interface Gap {
  readonly after: number;
  readonly resumesAt: number;
  /** The store left the numbers out in a failover. Only a client that has events with them has seen what was lost. */
  readonly nothingLost: boolean;
}

/**
 * - `restored`: the shop's orders were restored from a backup; changes that clients saw may be undone.
 * - `lost`: events were deleted or lost before the log had them.
 */
type BreakReason = 'restored' | 'lost';

/** A discontinuity between two events of the log: the earlier events do not fully explain the later ones. */
export interface Break {
  readonly position: Position;
  readonly reason: BreakReason;
}

/** The epochs and gaps of the log. Translates cursors to positions and back. */
export class History {
  readonly breaks: readonly Break[];

  /**
   * Expects both in ascending order.
   * @param everyFailover whether a failover that lost nothing is a break, too
   */
  constructor(
    private readonly epochs: readonly Epoch[],
    private readonly gaps: readonly Gap[],
    everyFailover = false,
  ) {
    const byPosition = new Map<Position, Break>();
    const isBreak = (gap: Gap | undefined): boolean => everyFailover || !gap?.nothingLost;
    for (const { resumesAt } of gaps.filter(isBreak)) byPosition.set(resumesAt - 0.5, { position: resumesAt - 0.5, reason: 'lost' });
    for (const { after } of epochs.slice(1)) {
      const gap = gaps.find((one) => one.after === after);
      // A restore that also lost events is one break, not two.
      const position = (gap?.resumesAt ?? after + 1) - 0.5;
      if (isBreak(gap)) byPosition.set(position, { position, reason: 'restored' });
    }
    this.breaks = [...byPosition.values()].sort((a, b) => a.position - b.position);
  }

  get epoch(): string {
    return this.epochs.at(-1)?.epoch ?? noEpoch;
  }

  /** Returns the breaks in (from, upTo]. */
  between(from: Position, upTo: Position): readonly Break[] {
    return this.breaks.filter(({ position }) => position > from && position <= upTo);
  }

  cursorAt(position: Position): Cursor {
    const seq = Math.floor(position);
    // A half-integer position is behind the break, so it belongs to the epoch that begins there.
    const epoch = this.epochs.findLast(({ after }) => (Number.isInteger(position) ? after < seq : after <= seq));
    return { epoch: (epoch ?? this.epochs[0])?.epoch ?? noEpoch, seq };
  }

  /** Whether a client has events that a failover lost: their numbers were left out, and the cursor is not of the epoch after it. */
  hasLost({ epoch, seq }: Cursor): boolean {
    const gap = this.gaps.find(({ after, resumesAt, nothingLost }) => nothingLost && after < seq && seq < resumesAt);
    return gap !== undefined && epoch !== this.epochs.find(({ after }) => after === gap.after)?.epoch;
  }

  /** Returns undefined for a cursor of an epoch that this log never followed. */
  positionOf({ epoch, seq }: Cursor): Position | undefined {
    if (epoch === noEpoch) return seq;
    const index = this.epochs.findIndex((one) => one.epoch === epoch);
    if (index === -1) return undefined;
    const passed = this.breaks.find(({ position }) => {
      const cursor = this.cursorAt(position);
      return cursor.seq === seq && cursor.epoch === epoch;
    });
    // A client that saw more of an old epoch than this log has continues with the next epoch.
    return passed?.position ?? Math.min(seq, this.epochs[index + 1]?.after ?? Infinity);
  }
}
