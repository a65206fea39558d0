import { Injectable } from '@nestjs/common';
import { oldestLogged } from '@plant-shop/events/log-retention';
import { Database } from '@plant-shop/platform/postgres/database';
import type { Cursor, Position } from '../../log/history.js';
import type { GapReason } from '../../log/log-entry.js';
import { LogTail } from '../../log/log-tail.js';
import type { Start } from '../request.js';

/** Where a client starts, and the gap notice to send first. */
export interface StartingPosition {
  readonly position: Position;
  readonly gap?: GapReason;
}

/** Resolves `latest`, `earliest` and cursors to positions. */
@Injectable()
export class StartingPositions {
  constructor(
    private readonly tail: LogTail,
    private readonly database: Database,
  ) {}

  /** @throws CodedError `unavailable` */
  async of(start: Start): Promise<StartingPosition> {
    const { ring, history } = this.tail;
    if (start === 'latest') return { position: ring.head };
    if (start === 'earliest') return { position: await this.beginning() };
    const position = history.positionOf(start);
    if (position !== undefined && position <= ring.head && !history.hasLost(start)) return { position };
    // Another replica may have seen more of the log than this one: read the log before judging the cursor.
    await this.tail.readToEnd();
    return this.withGap(start);
  }

  /** Chooses a position from which nothing is lost, though events may be repeated. */
  private async withGap(cursor: Cursor): Promise<StartingPosition> {
    const { ring, history } = this.tail;
    const position = history.positionOf(cursor);
    if (position === undefined) return { position: await this.beginning(), gap: 'cursor-unknown' };
    return position <= ring.head && !history.hasLost(cursor) ? { position } : { position: Math.min(position, ring.head), gap: 'cursor-ahead' };
  }

  private async beginning(): Promise<Position> {
    return (await oldestLogged(this.database)) - 1;
  }
}
