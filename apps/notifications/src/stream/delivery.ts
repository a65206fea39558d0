import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { Batch } from './batch.js';
import type { Connection } from './connection.js';
import { Entry, type GapReason } from './entry.js';
import type { Place } from './history.js';
import { selectionFor } from './live-connections.js';
import { pageEntries, readPage } from './log-pages.js';
import { LogTail } from './log-tail.js';
import { StreamMetrics } from './metrics.js';
import { Permits } from './permits.js';
import { Rounds } from './rounds.js';
import { heldPauseMs, Sender } from './sender.js';
import { drained } from './slow-clients.js';

/** Events that a client gets at once on its way to the end of the log; the next follow when these are away. */
const portion = 500;
/** Reads for clients that resume leave the other connections of the pool to the log itself. */
const readsAtOnce = 2;
const failedPauseMs = 1_000;

/** Brings each connection from its place to the end of the log: pages of the log, then the ring. From then on it takes part in rounds. */
@Injectable()
export class Delivery {
  private readonly reads = new Permits(readsAtOnce);

  constructor(
    private readonly tail: LogTail,
    private readonly rounds: Rounds,
    private readonly sender: Sender,
    private readonly database: Database,
    private readonly metrics: StreamMetrics,
    @InjectLogger() private readonly logger: Logger,
  ) {
    rounds.listen((connection) => this.begin(connection, connection.place));
  }

  /** Sends what follows its place to a connection, and goes on for ever. */
  begin(connection: Connection, place: Place): void {
    connection.place = place;
    connection.state = 'resuming';
    void this.resume(connection);
  }

  /** Sends nothing any more, and keeps the place. */
  hold(connection: Connection): void {
    this.leave(connection);
    connection.state = 'held';
  }

  /** Goes on where `hold` ended. */
  release(connection: Connection): void {
    this.begin(connection, connection.place);
  }

  end(connection: Connection): void {
    this.leave(connection);
    this.sender.slowClients.forget(connection);
    connection.state = 'closed';
  }

  private leave(connection: Connection): void {
    if (connection.state === 'live') this.rounds.leave(connection);
    connection.journey++;
  }

  /** One journey to the end of the log. It ends there, or when something else was decided about the connection. */
  private async resume(connection: Connection): Promise<void> {
    const journey = ++connection.journey;
    const isOn = (): boolean => connection.journey === journey;
    while (isOn()) {
      try {
        if (!this.sender.maySend) await sleep(heldPauseMs);
        else if (connection.gap) this.sendGap(connection, connection.gap);
        else if (connection.place < this.tail.ring.floor) await this.sendPage(connection, isOn);
        else if (this.sendFromRing(connection)) return;
        if (connection.outlet) await drained(connection.outlet.socket);
      } catch (error) {
        this.logger.warn({ err: error }, 'page of the log could not be read, trying again');
        await sleep(failedPauseMs);
      }
    }
  }

  private sendGap(connection: Connection, reason: GapReason): void {
    connection.gap = undefined;
    const gap = Entry.gap(connection.place, this.tail.history, reason);
    this.sender.send(connection, selectionFor(connection, new Batch([gap])));
  }

  private async sendPage(connection: Connection, isOn: () => boolean): Promise<void> {
    const { ring, history } = this.tail;
    const range = { after: Math.floor(connection.place), end: Math.floor(ring.head), limit: portion };
    const page = await this.reads.run(() => readPage(this.database, connection, range));
    this.metrics.pagesRead.inc();
    // Meanwhile it was ended or held, or nothing may be sent: then the page is read again.
    if (!isOn() || !this.sender.maySend) return;
    const { entries, place } = pageEntries(page, connection.place, history);
    connection.place = place;
    this.sender.send(connection, selectionFor(connection, new Batch(entries)));
  }

  /** @returns whether it has arrived. From the last read of the ring to being live there is no turn of the event loop. */
  private sendFromRing(connection: Connection): boolean {
    const waiting = this.tail.ring.after(connection.place);
    const now = waiting.slice(0, portion);
    const hasAll = now.length === waiting.length;
    if (hasAll) this.rounds.join(connection);
    else connection.place = now.at(-1)?.place ?? connection.place;
    this.sender.send(connection, selectionFor(connection, new Batch(now)));
    return hasAll;
  }
}
