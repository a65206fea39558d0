import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { tracing } from '@plant-shop/platform/telemetry/tracing';
import type { Position } from '../../log/history.js';
import type { LogEntry } from '../../log/log-entry.js';
import { LogTail } from '../../log/log-tail.js';
import type { Connection } from '../connection.js';
import { EntryBatch, LiveConnections, selectionFor } from './live-connections.js';
import { suspendedPauseMs, FrameSender } from './frame-sender.js';
import { StreamMetrics } from '../metrics.js';

/** Maximum size of one write to a live client. A client that lacks more catches up in portions instead. */
const maxWriteBytes = 256 * 1024;
/** Maximum pause between two rounds. */
const maxPauseMs = 50;
/** Maximum time of writing before other work gets its turn, such as receiving the next events. */
const sliceMs = 3;
/** Writes between two reads of the clock. */
const writesAtOnce = 16;

/** One write to each live connection that lacks entries. */
class Round {
  /** In the order of their writes. Those that are no longer pending in this round are skipped. */
  private readonly connections: Connection[] = [];
  /** Index of the next connection. */
  private at = 0;
  /** When the round ends, all live connections have these. */
  readonly entries: LogEntry[] = [];
  sent = 0;
  /** In milliseconds since 1970. */
  begun = 0;
  /** Time of writing, without the work between its slices. */
  tookMs = 0;

  /** @param number positive and unique */
  constructor(readonly number: number) {}

  has(connection: Connection): boolean {
    return connection.pendingRound === this.number;
  }

  /** @param position what the connection was sent so far */
  add(connection: Connection, position: Position): void {
    connection.pendingRound = this.number;
    connection.position = position;
    this.connections.push(connection);
  }

  /** Returns the connection to write to next; undefined when the round is over. */
  firstPending(): Connection | undefined {
    let connection;
    while ((connection = this.connections[this.at]) && !this.has(connection)) this.at++;
    return connection;
  }
}

/**
 * Sends new entries of the ring to the live connections, in rounds. A round writes once to each connection, with all entries that it
 * lacks by then. A write costs the same for one event as for many, so a round is followed by a pause of the same length, at most
 * `maxPauseMs`: a single event is sent at once; short rounds of a burst use at most half of the CPU time, no queue of writes builds up, and no
 * connection waits longer than a round and a pause.
 *
 * Example: A and B were sent everything up to 7, so `matched` is 7 and both are in no round. The ring grows to 9, of which A may see 8. `match`
 * sets `matched` to 9 and adds A to a round with position 7; B has everything up to 9 without a write. If 10 comes before A's turn, the
 * round's one write to A has 8 and what A may see of 10.
 */
@Injectable()
export class Broadcaster implements OnApplicationShutdown {
  private readonly live = new LiveConnections();
  /** Every entry up to this position has been matched against the subscribers. Connections in neither round have them all. */
  private matched: Position = 0;
  private round: Round | undefined;
  /** Connections that lack entries and are not pending in the current round. */
  private next = new Round(1);
  /** Entries after a position. Cleared whenever the ring has grown. */
  private readonly batches = new Map<Position, EntryBatch>();
  private isScheduled = false;
  private timer: NodeJS.Timeout | undefined;
  /** By `performance.now`. */
  private pauseUntil = 0;
  private tooFarBehind: (connection: Connection) => void = () => undefined;

  constructor(
    @Inject(LogTail) private readonly tail: Pick<LogTail, 'ring'>,
    private readonly sender: FrameSender,
    private readonly metrics: StreamMetrics,
  ) {}

  onApplicationShutdown(): void {
    clearTimeout(this.timer);
  }

  /** Replaces the function to call for a connection that lacks too much for one write. It has already left, and its position is set. */
  onTooFarBehind(tooFarBehind: (connection: Connection) => void): void {
    this.tooFarBehind = tooFarBehind;
  }

  /** Adds a connection that has every entry of the ring, or is sent them in this turn of the event loop. */
  join(connection: Connection): void {
    this.match();
    connection.state = 'live';
    this.live.add(connection);
  }

  /** Returns the position up to which a connection was sent everything. */
  positionOf({ state, pendingRound, position }: Connection): Position {
    return state === 'live' && pendingRound === 0 ? this.matched : position;
  }

  /** Removes a connection and sets its position to what it was sent. */
  leave(connection: Connection): void {
    connection.position = this.positionOf(connection);
    connection.pendingRound = 0;
    this.live.delete(connection);
  }

  /** Forgets everything, because the log was restored from a backup and all connections are being closed. */
  reset(): void {
    this.matched = 0;
    this.batches.clear();
    this.round = undefined;
    this.next = new Round(this.next.number + 1);
  }

  /** Schedules a round, because the ring has grown. A round in progress includes the new entries from its next slice on. */
  notify(): void {
    if (!this.isScheduled) this.runIn(this.pauseUntil - performance.now());
  }

  private runIn(pauseMs: number): void {
    this.isScheduled = true;
    if (pauseMs < 1) setImmediate(() => this.run());
    else this.timer = setTimeout(() => this.run(), pauseMs);
  }

  private run(): void {
    this.isScheduled = false;
    if (!this.sender.maySend) {
      this.runIn(suspendedPauseMs);
      return;
    }
    const begun = performance.now();
    this.match();
    const round = (this.round ??= this.begin());
    this.writeSlice(round, begun + sliceMs);
    round.tookMs += performance.now() - begun;
    if (round.firstPending()) this.runIn(0);
    else this.end(round);
  }

  private begin(): Round {
    const round = this.next;
    round.begun = Date.now();
    this.next = new Round(round.number + 1);
    return round;
  }

  /** Finds the connections that the new entries of the ring concern, and adds them to the current or the next round. */
  private match(): void {
    const { ring } = this.tail;
    const from = this.matched;
    if (ring.head <= from) return;
    this.matched = ring.head;
    this.batches.clear();
    const found = this.after(from);
    let last: Round | undefined;
    // Sending was suspended for longer than the ring covers: entries may concern any connection.
    for (const connection of from < ring.floor ? this.live.all() : this.live.interestedIn(found)) {
      if (this.round?.has(connection)) {
        last ??= this.round;
      } else {
        last = this.next;
        if (!this.next.has(connection)) this.next.add(connection, from);
      }
    }
    last?.entries.push(...found.entries);
  }

  /** Returns all entries after a position. Connections at the same position share the encoded bytes. */
  private after(position: Position): EntryBatch {
    let batch = this.batches.get(position);
    if (!batch) this.batches.set(position, (batch = new EntryBatch(this.tail.ring.after(position))));
    return batch;
  }

  private writeSlice(round: Round, until: number): void {
    let writes = 0;
    for (let connection; (connection = round.firstPending()); ) {
      if (++writes % writesAtOnce === 0 && performance.now() > until) return;
      const { position } = connection;
      const selected = position < this.tail.ring.floor ? undefined : selectionFor(connection, this.after(position));
      if (selected && selected.bytes.length <= maxWriteBytes) {
        connection.pendingRound = 0;
        round.sent += this.sender.send(connection, selected);
      } else {
        this.leave(connection);
        this.tooFarBehind(connection);
      }
    }
  }

  private end(round: Round): void {
    this.round = undefined;
    this.batches.clear();
    if (round.sent > 0) {
      this.observeLag(round);
      trace(round);
    }
    this.pauseUntil = performance.now() + Math.min(round.tookMs, maxPauseMs);
    if (this.next.firstPending()) this.notify();
  }

  private observeLag({ entries }: Round): void {
    const { now } = this.sender;
    for (const { fields, reachedAt } of entries) {
      if (fields && Number.isFinite(fields.at)) this.metrics.lag.observe(Math.max(0, now - fields.at) / 1_000);
      if (reachedAt !== undefined) this.metrics.sendLag.observe(Math.max(0, now - reachedAt) / 1_000);
    }
  }
}

/** Records one span for all frames of a round, linked with the traces that caused their events. */
function trace({ entries, sent, begun }: Round): void {
  tracing
    ?.begin({
      name: 'push frames',
      kind: 'producer',
      isRoot: true,
      begun,
      links: entries.map(({ event }) => event?.traceparent),
      attributes: { 'messaging.operation.type': 'send', 'messaging.batch.message_count': entries.length, 'plant_shop.frames': sent },
    })
    .end();
}
