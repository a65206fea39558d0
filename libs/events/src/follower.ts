import type { Logger } from '@plant-shop/platform/logging';
import type { Database, Transaction } from '@plant-shop/platform/postgres/database';
import { tracing } from '@plant-shop/platform/telemetry/tracing';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import type { FeedEvent, FeedHead, FeedNudge, FeedPage, FeedPosition } from './event.js';
import {
  findConflictingSeqs,
  findWatermark,
  idsBetween,
  lockWatermark,
  logEvents,
  recordGap,
  setWatermark,
  type Watermark,
} from './event-log.js';
import { oldestLogged } from './log-retention.js';
import { rangesOfNudge, rangeOfPage, type EventRange, type MergedRanges, mergeRanges } from './event-range.js';

/** Events (after, upTo] became part of the whole log just now. */
export interface Advance {
  readonly after: number;
  readonly upTo: number;
}

/** The same for followers of the log, which would otherwise read it. */
export interface LoggedRange extends Advance {
  readonly epoch: string;
  /** How long ago the first of them reached this process, in milliseconds, when they were announced. */
  readonly ageMs: number;
  /** All of them, in their order. Absent when a gap or a repetition is among them, or another epoch begins: then read the log. */
  readonly events?: readonly FeedEvent[];
}

/** The feed, as its owner serves it. */
export interface RemoteFeed {
  read(place: FeedPosition, limit: number): Promise<FeedPage>;
  startNewEpoch(known: number, agreed: number): Promise<FeedHead>;
}

export interface FollowerOptions {
  readonly feed: RemoteFeed;
  /** What follows from events, in the transaction that makes the log whole up to them. A promise is waited for. */
  readonly onAdvance: (tx: Transaction, advance: Advance) => unknown;
  /** After the commit. May be lost with the process: whoever needs it reads the log. */
  readonly announce: (logged: LoggedRange) => void;
}

const pageSize = 1_000;
/** How often the feed is asked although nobody said that it has grown. */
const pollMs = 1_000;
/** How often it is asked although nudges bring everything: the feed keeps old events until it hears that we have passed them. */
const reportMs = 5_000;
/** How long nudges that may wait are gathered: each transaction waits for the disk, whatever it logs. */
const gatherMs = 50;
/** The same while another replica does it: then this one only has to notice that the other has stopped. */
const standbyMs = 150;
/** So long after another replica has logged something it is taken to go on with it. */
const otherIsAliveMs = 1_000;
/** Nudges that wait while a transaction runs; what is beyond it is pulled. */
const maxWaiting = 64;

/**
 * Keeps an own, whole copy of a feed. Events come with nudges or are pulled: on a hole, a silence, a start. Nothing beyond
 * a hole is logged or handed on. Replicas may follow at the same time: the watermark's row decides.
 */
export class Follower {
  private readonly loop: BackgroundLoop;
  private waiting: { readonly nudge: FeedNudge; readonly cameAt: number }[] = [];
  private gathering: NodeJS.Timeout | undefined;
  private knownHead = 0;
  private seenWatermark = 0;
  private pulledAt = -Infinity;
  private loggedAt = -Infinity;
  private otherLoggedAt = -Infinity;
  /** When the log had all that was known of the feed. */
  private wholeAt = performance.now();

  constructor(
    private readonly database: Database,
    private readonly options: FollowerOptions,
    private readonly logger: Logger,
  ) {
    this.loop = new BackgroundLoop({ name: 'follow feed', intervalMs: pollMs }, () => this.run(), logger);
  }

  start(): void {
    this.loop.start();
  }

  stop(): Promise<void> {
    clearTimeout(this.gathering);
    return this.loop.stop();
  }

  /** Events that the feed has and the log has not, as far as is known. */
  get lag(): number {
    return Math.max(0, this.knownHead - this.seenWatermark);
  }

  /** For how long there have been such events, in seconds. */
  get lagSeconds(): number {
    return this.lag === 0 ? 0 : (performance.now() - this.wholeAt) / 1_000;
  }

  /** A nudge came. Late, doubled and lost ones do no harm. */
  onNudge(nudge: FeedNudge): void {
    this.waiting = [...this.waiting, { nudge, cameAt: performance.now() }].slice(-maxWaiting);
    if (nudge.mayWait && this.waiting.length < maxWaiting / 2) this.gather();
    else this.loop.poke();
  }

  /** Another replica has logged events. What it had of nudges need not be taken again: it would cost as much as logging it. */
  onLoggedElsewhere({ epoch, upTo }: Pick<LoggedRange, 'epoch' | 'upTo'>): void {
    this.otherLoggedAt = performance.now();
    this.waiting = this.waiting.filter(({ nudge }) => nudge.epoch !== epoch || nudge.head > upTo);
    clearTimeout(this.gathering);
    this.gathering = undefined;
    if (this.waiting.length > 0) this.gather();
  }

  private gather(): void {
    const isStandby = this.otherLoggedAt > this.loggedAt && performance.now() - this.otherLoggedAt < otherIsAliveMs;
    this.gathering ??= setTimeout(() => this.loop.poke(), isStandby ? standbyMs : gatherMs);
  }

  /** One round. @returns whether there is more to do at once */
  async run(): Promise<boolean> {
    clearTimeout(this.gathering);
    this.gathering = undefined;
    const nudges = this.waiting;
    this.waiting = [];
    const stretches = nudges.flatMap(({ nudge }) => rangesOfNudge(nudge));
    if (stretches.length > 0) {
      const head = Math.max(...nudges.map(({ nudge }) => nudge.head));
      const { upTo, isContiguous: fits } = await this.take(stretches, Math.min(...nudges.map(({ cameAt }) => cameAt)));
      this.knownHead = head;
      const isReported = performance.now() - this.pulledAt < reportMs;
      if (upTo >= head && fits && isReported) return this.waiting.length > 0;
    }
    return this.pull();
  }

  private async pull(): Promise<boolean> {
    const place = await findWatermark(this.database);
    const page = await this.options.feed.read(toPlace(place), pageSize);
    this.pulledAt = performance.now();
    this.knownHead = page.head;
    if (!page.matches) {
      await this.repairHistory(place);
      return true;
    }
    if (bringsNothing(place, page)) {
      this.noteWatermark(place.seq);
      return false;
    }
    const { upTo } = await this.take([rangeOfPage(toPlace(place), page)], this.pulledAt);
    return upTo < page.head && upTo > place.seq;
  }

  /** Logs what follows on the log, does what follows from it, and moves the watermark, in one transaction. */
  private async take(stretches: readonly EventRange[], cameAt: number): Promise<MergedRanges> {
    const { before, taken, others, repetitions } = await this.database.transaction(async (tx) => {
      const before = await lockWatermark(tx);
      const known = stretches.flatMap((stretch) => stretch.events.filter((event) => event.seq <= before.seq));
      const others = await findConflictingSeqs(tx, known);
      const taken = mergeRanges(toPlace(before), stretches);
      const { events, upTo, epoch, resumesAt } = taken;
      if (events.length > 0) tracing?.causedBy(events.map((one) => one.traceparent));
      const repetitions = logEvents(tx, events);
      if (epoch !== undefined && resumesAt !== undefined) recordGap(tx, before.seq, resumesAt, epoch);
      if (upTo > before.seq) await this.options.onAdvance(tx, { after: before.seq, upTo });
      if (epoch !== undefined && (upTo > before.seq || epoch !== before.epoch)) setWatermark(tx, upTo, epoch);
      return { before, taken, others, repetitions };
    }, { useGenericPlans: true });
    const { events, upTo, epoch, resumesAt } = taken;
    if (others.length > 0) {
      this.logger.error({ seqs: others.slice(0, 10), count: others.length }, 'the feed gave numbers a second time');
    }
    if (resumesAt !== undefined) {
      this.logger.error({ after: before.seq, resumesAt }, 'the feed no longer has these events: gap in the log');
    }
    this.noteWatermark(upTo);
    if (upTo > before.seq && epoch !== undefined) {
      this.loggedAt = performance.now();
      const areAll = resumesAt === undefined && epoch === before.epoch && repetitions().length === 0;
      this.options.announce({ after: before.seq, upTo, epoch, ageMs: performance.now() - cameAt, ...(areAll && { events }) });
    }
    return { ...taken, isContiguous: taken.isContiguous && others.length === 0 };
  }

  private noteWatermark(seq: number): void {
    this.seenWatermark = seq;
    if (this.lag === 0) this.wholeAt = performance.now();
  }

  /** One of the two databases was set back. Finds the last event that both have, and asks the feed to go on beyond us. */
  private async repairHistory(place: Watermark): Promise<void> {
    const agreed = await this.lastAgreed(place.seq);
    const { epoch, head } = await this.options.feed.startNewEpoch(place.seq, agreed);
    this.logger.error({ watermark: place.seq, agreed, epoch, head }, 'the feed has another history: it goes on beyond ours');
  }

  /** @returns 0 when what they agreed on is too old to be kept */
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

  /** The last number of the page after a place up to which both have the same; undefined if they differ at once. */
  private async agreedOnPage(after: number): Promise<number | undefined> {
    const { events } = await this.options.feed.read({ seq: after }, pageSize);
    const ours = await idsBetween(this.database, after, events.at(-1)?.seq ?? after);
    const differs = events.findIndex((event) => ours.get(event.seq) !== event.id);
    return events.slice(0, differs === -1 ? undefined : differs).at(-1)?.seq;
  }
}

/** The feed ends where the log does. Nothing is locked for that: a lock is a write, and it is asked each second. */
const bringsNothing = ({ seq, epoch }: Watermark, page: FeedPage): boolean =>
  page.events.length === 0 && page.next === seq + 1 && page.epoch === epoch;

const toPlace = ({ seq, id }: Watermark): FeedPosition => (id === null ? { seq } : { seq, id });
