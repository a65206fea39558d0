import type { Logger } from '@plant-shop/platform/logging';
import type { Database, Transaction } from '@plant-shop/platform/postgres/database';
import { tracing } from '@plant-shop/platform/telemetry/tracing';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import type { FeedEvent, FeedHead, FeedMessage, FeedPage, FeedPosition } from './feed.js';
import {
  type BodyColumn,
  findConflictingSeqs,
  findWatermark,
  idsBetween,
  lockWatermark,
  LogWriter,
  recordGap,
  setWatermark,
  type Watermark,
} from './event-log.js';
import { oldestLogged } from './log-retention.js';

/** The events (after, upTo], by which the complete part of the log has just grown. */
export interface Advance {
  readonly after: number;
  readonly upTo: number;
}

/** An advance with its events, for readers that would otherwise query the log. */
export interface LoggedRange extends Advance {
  readonly epoch: string;
  /** Milliseconds between the arrival of the first event in this process and this call. */
  readonly ageMs: number;
  /** All events, in order. Absent when they contain a gap, a repetition or a new epoch: read the log then. */
  readonly events?: readonly FeedEvent[];
}

/** The feed as its owner serves it: `Feed.readFor` and `Feed.startEpoch`. */
export interface RemoteFeed {
  read(position: FeedPosition, limit: number): Promise<FeedPage>;
  startEpoch(known: number, agreed: number): Promise<FeedHead>;
}

/** Called after the commit. The call is lost if the process dies: what must not be missed has to be read from the log. */
export type AfterCommit = (logged: LoggedRange) => void;

export interface FollowerOptions<Body = unknown> {
  readonly feed: RemoteFeed;
  /** Columns that the service's event_log has beside those of this library. Default: none. */
  readonly columns?: readonly BodyColumn<Body>[];
  /**
   * Applies the consequences of new events, in the transaction that logs them. May run several times: change nothing but `tx`.
   * @returns a function to call after the commit
   */
  readonly onAdvance: (tx: Transaction, advance: Advance, events: readonly FeedEvent[]) => AfterCommit | Promise<AfterCommit>;
}

const pageSize = 1_000;
/** How often the follower polls the feed without a message. */
const pollMs = 1_000;
/** How often it polls although messages bring everything: a poll confirms, and the feed retains events until they are confirmed. */
const confirmMs = 5_000;
/** How long messages that may wait are collected: every transaction waits for the disk, whatever its size. */
const collectMs = 50;
/** The same while another replica logs: this one only has to notice when the other stops. */
const standbyMs = 150;
/** How long after its last message another replica is assumed to be logging. */
const otherAliveMs = 1_000;
/** The most messages that wait while a transaction runs; events of dropped ones are pulled. */
const maxWaiting = 64;

/**
 * Keeps a complete copy of a feed. Events arrive with messages or are pulled: after missing events, on a timer and at the
 * start. Never logs an event before all earlier ones. Replicas may follow at the same time; the lock on the watermark's row
 * serialises them.
 */
export class Follower<Body = unknown> {
  private readonly loop: BackgroundLoop;
  private readonly writer: LogWriter<Body>;
  private waiting: { readonly message: FeedMessage; readonly receivedAt: number }[] = [];
  private collecting: NodeJS.Timeout | undefined;
  /** The feed's highest known number. Messages never lower it: they may arrive late. A poll does, if the feed was restored. */
  private knownHead = 0;
  private seenWatermark = 0;
  private pulledAt = -Infinity;
  private loggedAt = -Infinity;
  private otherLoggedAt = -Infinity;
  /** When the log last had all known events of the feed. */
  private completeAt = performance.now();

  constructor(
    private readonly database: Database,
    private readonly options: FollowerOptions<Body>,
    private readonly logger: Logger,
  ) {
    this.writer = new LogWriter(options.columns ?? []);
    this.loop = new BackgroundLoop({ name: 'follow feed', intervalMs: pollMs }, () => this.run(), logger);
  }

  start(): void {
    this.loop.start();
  }

  stop(): Promise<void> {
    clearTimeout(this.collecting);
    return this.loop.stop();
  }

  /** Number of events known to be in the feed and not in the log. */
  get lag(): number {
    return Math.max(0, this.knownHead - this.seenWatermark);
  }

  /** Seconds since the log last had all known events. */
  get lagSeconds(): number {
    return this.lag === 0 ? 0 : (performance.now() - this.completeAt) / 1_000;
  }

  /** Handles a message. Late, duplicate and lost messages are harmless. */
  receive(message: FeedMessage): void {
    this.waiting = [...this.waiting, { message, receivedAt: performance.now() }].slice(-maxWaiting);
    if (message.mayWait && this.waiting.length < maxWaiting / 2) this.collect();
    else this.loop.notify();
  }

  /** Drops messages whose events another replica has logged: processing them again would cost as much as logging them. */
  noteLoggedElsewhere({ epoch, upTo }: Pick<LoggedRange, 'epoch' | 'upTo'>): void {
    this.otherLoggedAt = performance.now();
    this.waiting = this.waiting.filter(({ message }) => message.epoch !== epoch || message.head > upTo);
    clearTimeout(this.collecting);
    this.collecting = undefined;
    if (this.waiting.length > 0) this.collect();
  }

  private collect(): void {
    const isStandby = this.otherLoggedAt > this.loggedAt && performance.now() - this.otherLoggedAt < otherAliveMs;
    this.collecting ??= setTimeout(() => this.loop.notify(), isStandby ? standbyMs : collectMs);
  }

  /** Runs one round. @returns whether more work is waiting */
  async run(): Promise<boolean> {
    clearTimeout(this.collecting);
    this.collecting = undefined;
    const messages = this.waiting;
    this.waiting = [];
    const ranges = messages.flatMap(({ message }) => rangesOfMessage(message));
    if (ranges.length > 0) {
      const { upTo, mustPull } = await this.log(ranges, Math.min(...messages.map(({ receivedAt }) => receivedAt)));
      this.knownHead = Math.max(this.knownHead, ...messages.map(({ message }) => message.head));
      const hasConfirmed = performance.now() - this.pulledAt < confirmMs;
      if (upTo >= this.knownHead && !mustPull && hasConfirmed) return this.waiting.length > 0;
    }
    return this.pull();
  }

  private async pull(): Promise<boolean> {
    const watermark = await findWatermark(this.database);
    const page = await this.options.feed.read(toPosition(watermark), pageSize);
    this.pulledAt = performance.now();
    this.knownHead = page.head;
    if (!page.matches) {
      await this.repairHistory(watermark);
      return true;
    }
    if (isUpToDate(watermark, page)) {
      this.noteWatermark(watermark.seq);
      return false;
    }
    const { upTo } = await this.log([rangeOfPage(toPosition(watermark), page)], this.pulledAt);
    return upTo < page.head && upTo > watermark.seq;
  }

  /**
   * In one transaction: logs the events that follow the log's end, applies their consequences and moves the watermark.
   * @returns the log's last number, and whether ranges do not continue the log or contradict it: then ask the feed
   */
  private async log(ranges: readonly EventRange[], receivedAt: number): Promise<{ upTo: number; mustPull: boolean }> {
    const { before, merged, conflicts, repeated, afterCommit } = await this.database.transaction(async (tx) => {
      const before = await lockWatermark(tx);
      const known = ranges.flatMap((range) => range.events.filter((event) => event.seq <= before.seq));
      const conflicts = await findConflictingSeqs(tx, known);
      const merged = mergeRanges(toPosition(before), ranges, before.epoch);
      const { events, upTo, epoch, resumesAt, nothingLost } = merged;
      if (events.length > 0) tracing?.causedBy(events.map((one) => one.traceparent));
      const repeated = await this.writer.write(tx, events, before);
      if (epoch !== undefined && resumesAt !== undefined) recordGap(tx, { afterSeq: before.seq, resumesAt, epoch, nothingLost });
      const afterCommit = upTo > before.seq ? await this.options.onAdvance(tx, { after: before.seq, upTo }, events) : undefined;
      if (epoch !== undefined && (upTo > before.seq || epoch !== before.epoch)) setWatermark(tx, before, upTo, epoch);
      return { before, merged, conflicts, repeated, afterCommit };
    }, { useGenericPlans: true });
    const { events, upTo, epoch, resumesAt, nothingLost } = merged;
    if (conflicts.length > 0) {
      this.logger.error({ seqs: conflicts.slice(0, 10), count: conflicts.length }, 'feed and log have different events under one number');
    }
    if (resumesAt !== undefined && nothingLost) {
      this.logger.info({ after: before.seq, resumesAt }, 'the feed failed over; no event is missing');
    } else if (resumesAt !== undefined) {
      this.logger.error({ after: before.seq, resumesAt }, 'the feed no longer has these events: gap in the log');
    }
    this.noteWatermark(upTo);
    if (afterCommit && epoch !== undefined) {
      this.loggedAt = performance.now();
      const isComplete = resumesAt === undefined && epoch === before.epoch && repeated.size === 0;
      afterCommit({ after: before.seq, upTo, epoch, ageMs: performance.now() - receivedAt, ...(isComplete && { events }) });
    }
    return { upTo, mustPull: !merged.isContiguous || conflicts.length > 0 };
  }

  private noteWatermark(seq: number): void {
    this.seenWatermark = seq;
    if (this.lag === 0) this.completeAt = performance.now();
  }

  /** After a restore of one of the databases: finds the last common event and has the feed continue beyond the log's last number. */
  private async repairHistory(watermark: Watermark): Promise<void> {
    const agreed = await this.lastAgreed(watermark.seq);
    const { epoch, head } = await this.options.feed.startEpoch(watermark.seq, agreed);
    this.logger.error({ watermark: watermark.seq, agreed, epoch, head }, 'the feed had another history: it continues in a new epoch');
  }

  /** Returns the number of the last event that feed and log have in common; 0 when it is older than what both retain. */
  private async lastAgreed(upTo: number): Promise<number> {
    const oldestInFeed = (await this.options.feed.read({ seq: 0 }, 1)).next;
    const oldest = Math.max(oldestInFeed, await oldestLogged(this.database));
    for (let end = upTo; end >= oldest; end -= pageSize) {
      let agreed = await this.agreedOnPage(Math.max(0, end - pageSize));
      if (agreed === undefined) continue;
      for (let next; (next = await this.agreedOnPage(agreed)) !== undefined; ) agreed = next;
      return agreed;
    }
    return 0;
  }

  /** Returns the last number up to which feed and log agree in the page after a number; undefined if they differ from its start. */
  private async agreedOnPage(after: number): Promise<number | undefined> {
    const { events } = await this.options.feed.read({ seq: after }, pageSize);
    const logged = await idsBetween(this.database, after, events.at(-1)?.seq ?? after);
    const differs = events.findIndex((event) => logged.get(event.seq) !== event.id);
    return events.slice(0, differs === -1 ? undefined : differs).at(-1)?.seq;
  }
}

/** Whether the feed ends where the log does. Checked without a lock, since a row lock is a write and this runs every second. */
const isUpToDate = ({ seq, epoch }: Watermark, page: FeedPage): boolean =>
  page.events.length === 0 && page.next === seq + 1 && page.epoch === epoch;

const toPosition = ({ seq, id }: Watermark): FeedPosition => (id === null ? { seq } : { seq, id });

/** The events after a position, from a message or a page. */
export interface EventRange {
  readonly epoch: string;
  readonly after: FeedPosition;
  /** The number of the first event; greater than `after.seq + 1` when the feed no longer has the events between. */
  readonly next: number;
  /** As in `FeedPage`. */
  readonly nothingLost?: boolean | undefined;
  /** The first number of `epoch`, if earlier events may belong to another one. */
  readonly epochBegins?: number | undefined;
  readonly events: readonly FeedEvent[];
}

/** What a log accepts of several ranges. */
interface MergedRanges {
  /** With consecutive numbers. */
  readonly events: readonly FeedEvent[];
  /** The log's last number after accepting them. */
  readonly upTo: number;
  /** The epoch of the last range accepted, or the log's own if its events are older; undefined when none was accepted. */
  readonly epoch: string | undefined;
  /** The number at which the log continues after a gap: the feed has no events between. Undefined without a gap. */
  readonly resumesAt: number | undefined;
  /** The numbers of the gap were left out in a failover, and no event is missing. */
  readonly nothingLost: boolean;
  /** False when a range began beyond the log's end, or after another event than the log's last: then ask the feed. */
  readonly isContiguous: boolean;
}

const rangeOfPage = (after: FeedPosition, { epoch, epochBegins, next, nothingLost, events }: FeedPage): EventRange => ({
  ...{ epoch, epochBegins, after, next, nothingLost, events },
});

/** Empty for a message without events. */
const rangesOfMessage = ({ epoch, after, events }: FeedMessage): EventRange[] =>
  events.length > 0 ? [{ epoch, after, next: after.seq + 1, events }] : [];

/**
 * Merges ranges that arrive late, twice, out of order or with gaps into what a log ending at `end` may append: only events
 * that follow an event which both the range and the log have. Comparing numbers alone would not suffice: a feed restored
 * from a backup assigns numbers again, and the log would continue in the other history and miss its beginning.
 * @param ownEpoch the log's; null while the log is empty, which then takes that of the first range
 */
export function mergeRanges(end: FeedPosition, ranges: readonly EventRange[], ownEpoch: string | null = null): MergedRanges {
  const events: FeedEvent[] = [];
  let last = end;
  let epoch: string | undefined;
  let resumesAt: number | undefined;
  let nothingLost = false;
  let isContiguous = true;
  for (const range of [...ranges].sort((a, b) => a.after.seq - b.after.seq)) {
    const before = last;
    const common = range.after.seq === before.seq ? range.after : range.events.find((event) => event.seq === before.seq);
    if (!common && range.after.seq < before.seq) continue; // Late: the log has all of it.
    if (!common || common.id !== before.id) {
      isContiguous = false;
      break;
    }
    if (common === range.after && range.next > before.seq + 1) {
      resumesAt = range.next;
      nothingLost = range.nothingLost ?? false;
      last = { seq: range.next - 1 };
    }
    for (const event of range.events) {
      if (event.seq !== last.seq + 1) continue;
      events.push(event);
      last = event;
    }
    // A range without new events may belong to an epoch that has ended. An empty page does not: it is the feed's own answer.
    const hasNews = last !== before || range.events.length === 0;
    // A log that was behind when the epoch began gets the last events of its own epoch first.
    const isBehind = range.events.length > 0 && last.seq < (range.epochBegins ?? 0);
    if (hasNews) epoch = (isBehind ? ownEpoch : undefined) ?? range.epoch;
  }
  return { events, upTo: last.seq, epoch, resumesAt, nothingLost, isContiguous };
}
