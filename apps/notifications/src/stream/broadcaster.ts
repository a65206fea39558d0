import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { tracing } from '@plant-shop/platform/telemetry/tracing';
import type { Position } from '../log/history.js';
import type { LogEntry } from '../log/log-entry.js';
import { LogTail } from '../log/log-tail.js';
import type { Connection } from './connection.js';
import { EntryBatch } from './entry-batch.js';
import { heldPauseMs, FrameSender } from './frame-sender.js';
import { LiveConnections, selectionFor } from './live-connections.js';
import { StreamMetrics } from './metrics.js';

/** A live client gets no more than this in one write: beyond it, it resumes, in portions. */
const maxWriteBytes = 256 * 1024;
/** The longest from the end of a round to the next. */
const maxPauseMs = 50;
/** The longest that sockets are written to before anything else has its turn: the next events among it. */
const sliceMs = 3;
/** Writes between two looks at the clock. */
const writesAtOnce = 16;

/** One turn for each live connection that lacks something. */
class Round {
  /** Whose turn is yet to come, and where they stand. */
  readonly turns = new Map<Connection, Position>();
  /** By its end, everybody who wants them has them. */
  readonly entries: LogEntry[] = [];
  sent = 0;
  /** In milliseconds since the epoch. */
  begun = 0;
  /** Without what had its turn between its slices. */
  tookMs = 0;
}

/**
 * Brings the live connections, who had everything, what comes into the ring. In its turn, each gets all that it lacks by then, in one
 * write. A write costs the same for one event as for many, so the next round begins after a pause as long as this one took: alone,
 * an event goes out at once; many cost half of the time at most, no queue of writes ever builds up, and no connection waits
 * longer than a round and a pause.
 */
@Injectable()
export class Broadcaster implements OnApplicationShutdown {
  private readonly live = new LiveConnections();
  /** How far the ring was searched for who lacks it: where those stand who lack nothing. */
  private searched: Position = 0;
  private round: Round | undefined;
  /** Of those who lack something and have no turn in this one any more. */
  private next = new Round();
  /** What follows a position, until more is found. */
  private readonly batches = new Map<Position, EntryBatch>();
  private isPlanned = false;
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

  /** What to do with one that lacks too much for one write. It has left, and knows its position. */
  onTooFarBehind(tooFarBehind: (connection: Connection) => void): void {
    this.tooFarBehind = tooFarBehind;
  }

  /** It has, or gets before anything else can happen, everything that is in the ring. */
  join(connection: Connection): void {
    this.search();
    connection.state = 'live';
    this.live.add(connection);
  }

  /** Its position is what it has got. */
  leave(connection: Connection): void {
    connection.position = this.round?.turns.get(connection) ?? this.next.turns.get(connection) ?? this.searched;
    this.live.delete(connection);
    this.round?.turns.delete(connection);
    this.next.turns.delete(connection);
  }

  /** The log was set back: all connections are being closed, and what comes next is new. */
  reset(): void {
    this.searched = 0;
    this.batches.clear();
    this.round = undefined;
    this.next = new Round();
  }

  /** The ring has grown. A round that is under way looks again before each slice. */
  schedule(): void {
    if (!this.isPlanned) this.goOnIn(this.pauseUntil - performance.now());
  }

  private goOnIn(pauseMs: number): void {
    this.isPlanned = true;
    if (pauseMs < 1) setImmediate(() => this.goOn());
    else this.timer = setTimeout(() => this.goOn(), pauseMs);
  }

  private goOn(): void {
    this.isPlanned = false;
    if (!this.sender.maySend) {
      this.goOnIn(heldPauseMs);
      return;
    }
    const begun = performance.now();
    this.search();
    const round = (this.round ??= this.begin());
    this.takeTurns(round, begun + sliceMs);
    round.tookMs += performance.now() - begun;
    if (round.turns.size > 0) this.goOnIn(0);
    else this.end(round);
  }

  private begin(): Round {
    const round = this.next;
    round.begun = Date.now();
    this.next = new Round();
    return round;
  }

  /** Who lacks something of what has come into the ring? */
  private search(): void {
    const { ring } = this.tail;
    const from = this.searched;
    if (ring.head <= from) return;
    this.searched = ring.head;
    this.batches.clear();
    const found = this.after(from);
    let last: Round | undefined;
    // When it was held for longer than the ring reaches back, nobody knows who would have wanted what.
    for (const connection of from < ring.floor ? this.live.all() : this.live.interestedIn(found)) {
      if (this.round?.turns.has(connection)) {
        last ??= this.round;
      } else {
        last = this.next;
        if (!this.next.turns.has(connection)) this.next.turns.set(connection, from);
      }
    }
    last?.entries.push(...found.entries);
  }

  /** All that follows a position: those who stand at the same one share the bytes. */
  private after(position: Position): EntryBatch {
    let batch = this.batches.get(position);
    if (!batch) this.batches.set(position, (batch = new EntryBatch(this.tail.ring.after(position))));
    return batch;
  }

  private takeTurns(round: Round, until: number): void {
    let writes = 0;
    for (const [connection, position] of round.turns) {
      if (++writes % writesAtOnce === 0 && performance.now() > until) return;
      const selected = position < this.tail.ring.floor ? undefined : selectionFor(connection, this.after(position));
      if (selected && selected.bytes.length <= maxWriteBytes) {
        round.turns.delete(connection);
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
    if (this.next.turns.size > 0) this.schedule();
  }

  private observeLag({ entries }: Round): void {
    const { now } = this.sender;
    for (const { fields, reachedAt } of entries) {
      if (fields && Number.isFinite(fields.at)) this.metrics.lag.observe(Math.max(0, now - fields.at) / 1_000);
      if (reachedAt !== undefined) this.metrics.sendLag.observe(Math.max(0, now - reachedAt) / 1_000);
    }
  }
}

/** One span for all frames of a round, linked with what caused their events. */
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
