import type { Logger } from '@plant-shop/platform/logging';
import type { Database, Transaction } from '@plant-shop/platform/postgres/database';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import type { FeedEvent, FeedHead, FeedNudge, FeedPage, FeedPlace } from './event.js';
import {
  contiguousEnd,
  findWatermark,
  idsBetween,
  lockWatermark,
  logEvents,
  noteGap,
  setWatermark,
  type Watermark,
} from './event-log.js';
import { oldestLogged } from './log-retention.js';

/** Events (after, upTo] became part of the whole log just now. */
export interface Advance {
  readonly after: number;
  readonly upTo: number;
}

/** The feed, as its owner serves it. */
export interface RemoteFeed {
  read(place: FeedPlace, limit: number): Promise<FeedPage>;
  goOnBeyond(known: number, agreed: number): Promise<FeedHead>;
}

export interface FollowerOptions {
  readonly feed: RemoteFeed;
  /** What follows from events, in the transaction that makes the log whole up to them. */
  readonly onAdvance: (tx: Transaction, advance: Advance) => Promise<unknown>;
  /** After the commit. May be lost with the process: whoever needs it reads the log. */
  readonly announce: (advance: Advance) => void;
}

const pageSize = 1_000;
/** How often the feed is asked although nobody said that it has grown. */
const pollMs = 1_000;
/** How often it is asked although nudges bring everything: the feed keeps old events until it hears that we have passed them. */
const reportMs = 5_000;
/** Nudges that wait while a transaction runs; what is beyond it is pulled. */
const maxWaiting = 64;

/**
 * Keeps an own, whole copy of a feed. Events come with nudges or are pulled: on a hole, a silence, a start. Nothing beyond
 * a hole is ever handed on before the hole is filled. Replicas may follow at the same time: the watermark's row decides.
 */
export class Follower {
  private readonly loop: BackgroundLoop;
  private waiting: FeedNudge[] = [];
  private knownHead = 0;
  private seenWatermark = 0;
  private pulledAt = -Infinity;

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
    return this.loop.stop();
  }

  /** Events that the feed has and the log has not, as far as is known. */
  get lag(): number {
    return Math.max(0, this.knownHead - this.seenWatermark);
  }

  /** A nudge came. Late, doubled and lost ones do no harm. */
  heard(nudge: FeedNudge): void {
    this.waiting = [...this.waiting, nudge].slice(-maxWaiting);
    this.loop.poke();
  }

  /** One round. @returns whether there is more to do at once */
  private async run(): Promise<boolean> {
    const nudges = this.waiting;
    this.waiting = [];
    const heard = nudges.flatMap((nudge) => nudge.events);
    const head = nudges.reduce((highest, nudge) => Math.max(highest, nudge.head), 0);
    const epoch = nudges.at(-1)?.epoch;
    if (heard.length > 0 && epoch !== undefined) {
      const watermark = await this.take(epoch, heard);
      this.knownHead = head;
      if (watermark >= head && performance.now() - this.pulledAt < reportMs) return this.waiting.length > 0;
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
    const watermark = await this.take(page.epoch, page.events, { from: place.seq, next: page.next });
    return watermark < page.head && page.events.length > 0;
  }

  /**
   * Logs events, moves the watermark over what is whole now, and does what follows from it, in one transaction.
   * @param jump the feed itself says that nothing comes between these two
   * @returns the watermark
   */
  private async take(
    epoch: string,
    events: readonly FeedEvent[],
    jump?: { readonly from: number; readonly next: number },
  ): Promise<number> {
    const { advance, others, gap } = await this.database.transaction(async (tx) => {
      const others = await logEvents(tx, events);
      const before = await lockWatermark(tx);
      const gap = jump?.from === before.seq && jump.next > before.seq + 1 ? jump : undefined;
      const from = gap ? gap.next - 1 : before.seq;
      if (gap) await noteGap(tx, before.seq, gap.next, epoch);
      const upTo = await contiguousEnd(tx, from);
      const advance: Advance = { after: before.seq, upTo };
      if (upTo > before.seq || before.epoch !== epoch) await setWatermark(tx, upTo, epoch);
      if (upTo > before.seq) await this.options.onAdvance(tx, advance);
      return { advance, others, gap };
    });
    if (others.length > 0) {
      this.logger.error({ seqs: others.slice(0, 10), count: others.length }, 'the feed gave numbers a second time');
    }
    if (gap) this.logger.error({ after: gap.from, resumesAt: gap.next }, 'the feed no longer has these events: gap in the log');
    this.seenWatermark = advance.upTo;
    if (advance.upTo > advance.after) this.options.announce(advance);
    return advance.upTo;
  }

  /** One of the two databases was set back. Finds the last event that both have, and asks the feed to go on beyond us. */
  private async repairHistory(place: Watermark): Promise<void> {
    const agreed = await this.lastAgreed(place.seq);
    const { epoch, head } = await this.options.feed.goOnBeyond(place.seq, agreed);
    this.logger.error({ watermark: place.seq, agreed, epoch, head }, 'the feed has another history: it goes on beyond ours');
  }

  /** @returns 0 when what they agreed on is too old to be kept */
  private async lastAgreed(upTo: number): Promise<number> {
    const oldestInFeed = (await this.options.feed.read({ seq: 0 }, 1)).next;
    const oldest = Math.max(oldestInFeed, await oldestLogged(this.database));
    for (let end = upTo; end >= oldest; end -= pageSize) {
      const after = Math.max(0, end - pageSize);
      const ours = await idsBetween(this.database, after, end);
      const { events } = await this.options.feed.read({ seq: after }, pageSize);
      const differs = events.findIndex((event) => ours.get(event.seq) !== event.id);
      const agreed = events.slice(0, differs === -1 ? undefined : differs).at(-1);
      if (agreed) return agreed.seq;
    }
    return 0;
  }
}

const toPlace = ({ seq, id }: Watermark): FeedPlace => (id === null ? { seq } : { seq, id });
