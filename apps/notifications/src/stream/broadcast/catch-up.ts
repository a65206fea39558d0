import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { Semaphore } from '@plant-shop/platform/patterns/semaphore';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { pageEntries, readPage } from '../../log/event-log.repository.js';
import { encodeCursor, type Position } from '../../log/history.js';
import { LogEntry, type GapReason } from '../../log/log-entry.js';
import { LogTail } from '../../log/log-tail.js';
import { Broadcaster } from './broadcaster.js';
import type { Connection } from '../connection.js';
import { EntryBatch, selectionFor } from './live-connections.js';
import { suspendedPauseMs, FrameSender } from './frame-sender.js';
import { StreamMetrics } from '../metrics.js';
import { drained } from './slow-clients.js';

/** Events sent to a client at once; the next are sent when its socket has drained. */
const maxEvents = 500;
/** Concurrent reads for resuming clients; the pool's other connections stay free for the log itself. */
const readsAtOnce = 2;
const failedPauseMs = 1_000;

/** Sends each resuming connection what follows its position: from the log, then from the ring. At the end of the ring the broadcaster takes over. */
@Injectable()
export class CatchUp {
  private readonly reads = new Semaphore(readsAtOnce);

  constructor(
    private readonly tail: LogTail,
    private readonly broadcaster: Broadcaster,
    private readonly sender: FrameSender,
    private readonly database: Database,
    private readonly metrics: StreamMetrics,
    @InjectLogger() private readonly logger: Logger,
  ) {}

  /** Starts sending what follows `position`. */
  begin(connection: Connection, position: Position): void {
    connection.position = position;
    connection.state = 'resuming';
    void this.resume(connection);
  }

  /** Stops sending and remembers the position. */
  hold(connection: Connection): void {
    this.leave(connection);
    connection.state = 'rechecking';
  }

  /** Continues from the position at `hold`. */
  release(connection: Connection): void {
    this.begin(connection, connection.position);
  }

  /**
   * Returns the cursor after everything that a connection was sent, also where nothing matched its filter: an idle client that resumes
   * with its last event's would find it older than the log. Undefined while a gap notice is still to be sent.
   */
  cursorOf(connection: Connection): string | undefined {
    if (connection.gap) return undefined;
    return encodeCursor(this.tail.history.cursorAt(this.broadcaster.positionOf(connection)));
  }

  end(connection: Connection): void {
    this.leave(connection);
    this.sender.slowClients.forget(connection);
    connection.state = 'closed';
  }

  private leave(connection: Connection): void {
    if (connection.state === 'live') this.broadcaster.leave(connection);
    connection.catchUpRun++;
  }

  /** Runs until the connection is live, or until another run, `hold` or `end` replaces this one. */
  private async resume(connection: Connection): Promise<void> {
    const run = ++connection.catchUpRun;
    const isCurrent = (): boolean => connection.catchUpRun === run;
    while (isCurrent()) {
      try {
        if (!this.sender.maySend) await sleep(suspendedPauseMs);
        else if (connection.gap) this.sendGap(connection, connection.gap);
        else if (connection.position < this.tail.ring.floor) await this.sendPage(connection, isCurrent);
        else if (this.sendFromRing(connection)) return;
        if (connection.transport) await drained(connection.transport.socket);
      } catch (error) {
        this.logger.warn({ err: error }, 'reading a page of the log failed, trying again');
        await sleep(failedPauseMs);
      }
    }
  }

  private sendGap(connection: Connection, reason: GapReason): void {
    connection.gap = undefined;
    const gap = LogEntry.gap(connection.position, this.tail.history, reason);
    this.sender.send(connection, selectionFor(connection, new EntryBatch([gap])));
  }

  private async sendPage(connection: Connection, isCurrent: () => boolean): Promise<void> {
    const { ring, history } = this.tail;
    const range = { after: Math.floor(connection.position), end: Math.floor(ring.head), limit: maxEvents };
    const page = await this.reads.run(() => readPage(this.database, connection, range));
    this.metrics.pagesRead.inc();
    // If the connection was closed or held during the read, or sending is suspended, drop the page: it is read again later.
    if (!isCurrent() || !this.sender.maySend) return;
    const { entries, position } = pageEntries(page, connection.position, history);
    connection.position = position;
    this.sender.send(connection, selectionFor(connection, new EntryBatch(entries)));
  }

  /** Returns whether the connection is live now. Reading the rest of the ring and joining happen in one turn of the event loop. */
  private sendFromRing(connection: Connection): boolean {
    const waiting = this.tail.ring.after(connection.position);
    const now = waiting.slice(0, maxEvents);
    const hasAll = now.length === waiting.length;
    if (hasAll) this.broadcaster.join(connection);
    else connection.position = now.at(-1)?.position ?? connection.position;
    this.sender.send(connection, selectionFor(connection, new EntryBatch(now)));
    return hasAll;
  }
}
