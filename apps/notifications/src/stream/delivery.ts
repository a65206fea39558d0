import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { RevocationLog } from '@plant-shop/credentials/revocation-log';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { InjectLogger } from '@plant-shop/platform/service/parts.module';
import { type OpenSpan, tracing } from '@plant-shop/platform/telemetry/tracing';
import { Batch, type Selected } from './batch.js';
import type { Connection } from './connection.js';
import { Entry, type GapReason } from './entry.js';
import type { Place } from './history.js';
import { LiveConnections, selectionFor } from './live-connections.js';
import { pageEntries, readPage } from './log-pages.js';
import { LogTail } from './log-tail.js';
import { StreamMetrics } from './metrics.js';
import { Permits } from './permits.js';
import { drained, SlowClients } from './slow-clients.js';

/** Events that a client gets at once on its way to the end of the log; the next follow when these are away. */
const portion = 500;
/** A live client gets no more than this in one write: beyond it, portions. */
const maxWriteBytes = 256 * 1024;
/** Reads for clients that resume leave the other connections of the pool to the log itself. */
const readsAtOnce = 2;
const heldPauseMs = 50;
/** The longest that events are gathered before they go out together. */
const maxGatheringMs = 50;
/** The longest that live connections are written to before anything else has its turn: the next events among it. */
const sliceMs = 3;
/** Writes between two looks at the clock. */
const writesAtOnce = 16;
const failedPauseMs = 1_000;

/** A batch on its way to those who were live when it set out. */
interface Push {
  /** Where they stood. */
  readonly from: Place;
  readonly batch: Batch;
  readonly span: OpenSpan | undefined;
  /** Who has not got it yet. Whoever leaves meanwhile stands where it stood. */
  readonly unsent: Map<Connection, Selected>;
  /** For whom it is too large for one write: they get it on a way of their own, when this one is over. */
  readonly inPortions: Set<Connection>;
  sent: number;
  tookMs: number;
}

/**
 * Brings each connection from its place to the end of the log (pages of the log, then the ring) and from then on every
 * batch of new events, in one write per socket. All live connections stand at the same place. While revocations cannot be
 * followed, nothing is sent to anybody.
 */
@Injectable()
export class Delivery implements OnApplicationShutdown {
  readonly slowClients = new SlowClients();
  private readonly live = new LiveConnections();
  private readonly reads = new Permits(readsAtOnce);
  /** What live connections have, or are about to get by the push that is under way. */
  private flushed: Place = 0;
  private push: Push | undefined;
  private isFlushPlanned = false;
  private held: NodeJS.Timeout | undefined;
  /** By `performance.now`: the next events are gathered until then. */
  private gatherUntil = 0;
  private onSlow: (connection: Connection) => void = () => undefined;

  constructor(
    private readonly tail: LogTail,
    private readonly database: Database,
    private readonly revocations: RevocationLog,
    private readonly metrics: StreamMetrics,
    @InjectLogger() private readonly logger: Logger,
  ) {}

  onApplicationShutdown(): void {
    clearTimeout(this.held);
  }

  /** What to do with a client that left too much unread. */
  listen(onSlow: (connection: Connection) => void): void {
    this.onSlow = onSlow;
  }

  /**
   * The ring has grown: what comes in one turn of the event loop goes out together. A write to every socket costs the same
   * for one event as for many, so what comes soon after one is gathered for as long as that one took: alone, an event goes
   * out at once; many cost half of the time at most, and no queue of writes ever builds up.
   */
  planFlush(): void {
    // A push that ends looks whether the ring has grown meanwhile.
    if (this.isFlushPlanned || this.push) return;
    this.isFlushPlanned = true;
    const pauseMs = this.gatherUntil - performance.now();
    if (pauseMs < 1) setImmediate(() => this.flushInSlices());
    else this.held = setTimeout(() => this.flushInSlices(), pauseMs);
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
    this.slowClients.forget(connection);
    connection.state = 'closed';
  }

  /** The log was set back, and all connections are closed: what comes next is new. */
  startOver(): void {
    this.flushed = 0;
  }

  private leave(connection: Connection): void {
    if (connection.state === 'live') {
      this.live.delete(connection);
      const { push } = this;
      const isBehind = push && (push.unsent.delete(connection) || push.inPortions.delete(connection));
      connection.place = isBehind ? push.from : this.flushed;
    }
    connection.journey++;
  }

  private get maySend(): boolean {
    const { isFresh } = this.revocations;
    this.metrics.isHeld.set(isFresh ? 0 : 1);
    return isFresh;
  }

  private flushInSlices(): void {
    this.isFlushPlanned = false;
    if (!this.maySend) {
      this.isFlushPlanned = true;
      this.held = setTimeout(() => this.flushInSlices(), heldPauseMs);
      return;
    }
    this.beginPush();
    if (this.push) this.pushSlice(this.push);
  }

  private pushSlice(push: Push): void {
    // Somebody who became live did not wait for it.
    if (this.push !== push) return;
    if (!this.maySend) this.held = setTimeout(() => this.pushSlice(push), heldPauseMs);
    else if (!this.pushFor(push, sliceMs)) setImmediate(() => this.pushSlice(push));
  }

  /** All live connections stand at the end of the ring when it returns. */
  private flushAtOnce(): void {
    if (this.push) this.pushFor(this.push, Infinity);
    this.beginPush();
    if (this.push) this.pushFor(this.push, Infinity);
  }

  private beginPush(): void {
    const { ring } = this.tail;
    if (this.push || ring.head <= this.flushed) return;
    const from = this.flushed;
    if (from < ring.floor) {
      // It was held for longer than the ring reaches back.
      const left = [...this.live.all()];
      for (const connection of left) this.leave(connection);
      this.flushed = ring.head;
      for (const connection of left) this.begin(connection, from);
      return;
    }
    this.flushed = ring.head;
    const begun = performance.now();
    const batch = new Batch(ring.after(from));
    const span = startPush(batch);
    const unsent = new Map(this.live.wanting(batch));
    this.push = { from, batch, span, unsent, inPortions: new Set(), sent: 0, tookMs: performance.now() - begun };
  }

  /** @returns whether it is over */
  private pushFor(push: Push, limitMs: number): boolean {
    const begun = performance.now();
    let writes = 0;
    for (const [connection, selected] of push.unsent) {
      if (++writes % writesAtOnce === 0 && performance.now() - begun > limitMs) break;
      push.unsent.delete(connection);
      if (selected.bytes.length > maxWriteBytes) push.inPortions.add(connection);
      else push.sent += this.send(connection, selected);
    }
    push.tookMs += performance.now() - begun;
    if (push.unsent.size > 0) return false;
    this.endPush(push);
    return true;
  }

  private endPush({ batch, span, from, inPortions, sent, tookMs }: Push): void {
    const leaving = [...inPortions];
    for (const connection of leaving) this.leave(connection);
    this.push = undefined;
    if (sent > 0) {
      this.observeLag(batch);
      span?.set({ 'plant_shop.frames': sent });
      // Left open, it is never sent: what nobody got is no trace.
      span?.end();
    }
    this.gatherUntil = performance.now() + Math.min(tookMs, maxGatheringMs);
    // They become live again at once when their sockets take it all, and may begin a push of their own.
    for (const connection of leaving) this.begin(connection, from);
    if (this.tail.ring.head > this.flushed) this.planFlush();
  }

  /** @returns how many events and gaps were sent */
  private send(connection: Connection, { bytes, count }: Selected): number {
    const { outlet } = connection;
    if (!outlet || count === 0) return 0;
    if (!SlowClients.takesMore(connection)) {
      this.onSlow(connection);
      return 0;
    }
    outlet.send(bytes);
    this.slowClients.note(connection, performance.now());
    this.metrics.frames.inc({ transport: outlet.transport }, count);
    return count;
  }

  private observeLag({ entries }: Batch): void {
    const now = Date.now();
    for (const { facts } of entries) {
      if (facts && Number.isFinite(facts.at)) this.metrics.lag.observe(Math.max(0, now - facts.at) / 1_000);
    }
  }

  /** One journey to the end of the log. It ends there, or when something else was decided about the connection. */
  private async resume(connection: Connection): Promise<void> {
    const journey = ++connection.journey;
    const isOn = (): boolean => connection.journey === journey;
    while (isOn()) {
      try {
        if (!this.maySend) await sleep(heldPauseMs);
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
    this.send(connection, selectionFor(connection, new Batch([gap])));
  }

  private async sendPage(connection: Connection, isOn: () => boolean): Promise<void> {
    const { ring, history } = this.tail;
    const range = { after: Math.floor(connection.place), end: Math.floor(ring.head), limit: portion };
    const page = await this.reads.run(() => readPage(this.database, connection, range));
    this.metrics.pagesRead.inc();
    // Meanwhile it was ended or held, or nothing may be sent: then the page is read again.
    if (!isOn() || !this.maySend) return;
    const { entries, place } = pageEntries(page, connection.place, history);
    connection.place = place;
    this.send(connection, selectionFor(connection, new Batch(entries)));
  }

  /** @returns whether it has arrived. From the last read of the ring to being live there is no turn of the event loop. */
  private sendFromRing(connection: Connection): boolean {
    this.flushAtOnce();
    const waiting = this.tail.ring.after(connection.place);
    const now = waiting.slice(0, portion);
    const hasAll = now.length === waiting.length;
    connection.place = hasAll ? this.flushed : (now.at(-1)?.place ?? this.flushed);
    if (hasAll) {
      connection.state = 'live';
      this.live.add(connection);
    }
    this.send(connection, selectionFor(connection, new Batch(now)));
    return hasAll;
  }
}

/** One for all frames that go out together: linked with what caused their events. */
const startPush = ({ entries }: Batch): OpenSpan | undefined =>
  tracing?.begin({
    name: 'push frames',
    kind: 'producer',
    isRoot: true,
    links: entries.map(({ event }) => event?.traceparent),
    attributes: { 'messaging.operation.type': 'send', 'messaging.batch.message_count': entries.length },
  });
