import { Injectable } from '@nestjs/common';
import { oldestLogged } from '@plant-shop/events/log-retention';
import { Database } from '@plant-shop/platform/postgres/database';
import type { Position } from '../log/history.js';
import type { GapReason } from '../log/log-entry.js';
import { LogTail } from '../log/log-tail.js';
import type { Start } from './request.js';

/** Where a client begins, and what it must be told first. */
export interface StartingPosition {
  readonly position: Position;
  readonly gap?: GapReason;
}

/** What `latest`, `earliest` and cursors mean at this moment. */
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
    if (position !== undefined && position <= ring.head) return { position };
    // Another replica may know more than this one; the log knows all.
    await this.tail.readToEnd();
    return this.afterCatchUp(this.tail.history.positionOf(start));
  }

  /** It is told of the gap, and goes on so that nothing is lost, though some of it may come again. */
  private async afterCatchUp(position: Position | undefined): Promise<StartingPosition> {
    if (position === undefined) return { position: await this.beginning(), gap: 'cursor-unknown' };
    const { head } = this.tail.ring;
    return position <= head ? { position } : { position: head, gap: 'cursor-ahead' };
  }

  private async beginning(): Promise<Position> {
    return (await oldestLogged(this.database)) - 1;
  }
}
