import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { pageEntries, readPage } from '../log/event-log.repository.js';
import type { Position } from '../log/history.js';
import { LogEntry, type GapReason } from '../log/log-entry.js';
import { LogTail } from '../log/log-tail.js';
import { Broadcaster } from './broadcaster.js';
import type { Connection } from './connection.js';
import { EntryBatch } from './entry-batch.js';
import { heldPauseMs, FrameSender } from './frame-sender.js';
import { selectionFor } from './live-connections.js';
import { StreamMetrics } from './metrics.js';
import { Semaphore } from './semaphore.js';
import { drained } from './slow-clients.js';

/** Events that a client gets at once on its way to the end of the log; the next follow when these are away. */
const portion = 500;
/** Reads for clients that resume leave the other connections of the pool to the log itself. */
const readsAtOnce = 2;
const failedPauseMs = 1_000;

/** Brings each connection from its position to the end of the log: pages of the log, then the ring. From then on it takes part in broadcaster. */
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

  /** Sends what follows its position to a connection, and goes on for ever. */
  begin(connection: Connection, position: Position): void {
    connection.position = position;
    connection.state = 'resuming';
    void this.resume(connection);
  }

  /** Sends nothing any more, and keeps the position. */
  hold(connection: Connection): void {
    this.leave(connection);
    connection.state = 'held';
  }

  /** Goes on where `hold` ended. */
  release(connection: Connection): void {
    this.begin(connection, connection.position);
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

  /** One journey to the end of the log. It ends there, or when something else was decided about the connection. */
  private async resume(connection: Connection): Promise<void> {
    const run = ++connection.catchUpRun;
    const isOn = (): boolean => connection.catchUpRun === run;
    while (isOn()) {
      try {
        if (!this.sender.maySend) await sleep(heldPauseMs);
        else if (connection.gap) this.sendGap(connection, connection.gap);
        else if (connection.position < this.tail.ring.floor) await this.sendPage(connection, isOn);
        else if (this.sendFromRing(connection)) return;
        if (connection.transport) await drained(connection.transport.socket);
      } catch (error) {
        this.logger.warn({ err: error }, 'page of the log could not be read, trying again');
        await sleep(failedPauseMs);
      }
    }
  }

  private sendGap(connection: Connection, reason: GapReason): void {
    connection.gap = undefined;
    const gap = LogEntry.gap(connection.position, this.tail.history, reason);
    this.sender.send(connection, selectionFor(connection, new EntryBatch([gap])));
  }

  private async sendPage(connection: Connection, isOn: () => boolean): Promise<void> {
    const { ring, history } = this.tail;
    const range = { after: Math.floor(connection.position), end: Math.floor(ring.head), limit: portion };
    const page = await this.reads.run(() => readPage(this.database, connection, range));
    this.metrics.pagesRead.inc();
    // Meanwhile it was ended or held, or nothing may be sent: then the page is read again.
    if (!isOn() || !this.sender.maySend) return;
    const { entries, position } = pageEntries(page, connection.position, history);
    connection.position = position;
    this.sender.send(connection, selectionFor(connection, new EntryBatch(entries)));
  }

  /** @returns whether it has arrived. From the last read of the ring to being live there is no turn of the event loop. */
  private sendFromRing(connection: Connection): boolean {
    const waiting = this.tail.ring.after(connection.position);
    const now = waiting.slice(0, portion);
    const hasAll = now.length === waiting.length;
    if (hasAll) this.broadcaster.join(connection);
    else connection.position = now.at(-1)?.position ?? connection.position;
    this.sender.send(connection, selectionFor(connection, new EntryBatch(now)));
    return hasAll;
  }
}
