import { Injectable } from '@nestjs/common';
import { oldestLogged } from '@plant-shop/events/log-retention';
import { Database } from '@plant-shop/platform/postgres/database';
import type { GapReason } from './entry.js';
import type { Place } from './history.js';
import { LogTail } from './log-tail.js';
import type { Start } from './request.js';

/** Where a client begins, and what it must be told first. */
export interface StartingPlace {
  readonly place: Place;
  readonly gap?: GapReason;
}

/** What `latest`, `earliest` and cursors mean at this moment. */
@Injectable()
export class StartingPlaces {
  constructor(
    private readonly tail: LogTail,
    private readonly database: Database,
  ) {}

  /** @throws CodedError `unavailable` */
  async of(start: Start): Promise<StartingPlace> {
    const { ring, history } = this.tail;
    if (start === 'latest') return { place: ring.head };
    if (start === 'earliest') return { place: await this.beginning() };
    const place = history.placeOf(start);
    if (place !== undefined && place <= ring.head) return { place };
    // Another replica may know more than this one; the log knows all.
    await this.tail.catchUp();
    return this.afterCatchUp(this.tail.history.placeOf(start));
  }

  /** It is told of the gap, and goes on so that nothing is lost, though some of it may come again. */
  private async afterCatchUp(place: Place | undefined): Promise<StartingPlace> {
    if (place === undefined) return { place: await this.beginning(), gap: 'cursor-unknown' };
    const { head } = this.tail.ring;
    return place <= head ? { place } : { place: head, gap: 'cursor-ahead' };
  }

  private async beginning(): Promise<Place> {
    return (await oldestLogged(this.database)) - 1;
  }
}
