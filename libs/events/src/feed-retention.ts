import type { Logger } from '@plant-shop/platform/logging';
import type { Database, Statement } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { Gauge, type Registry } from 'prom-client';
import type { FeedTable } from './feed.js';

export interface FeedRetentionOptions {
  /** How long events are kept at least, in milliseconds. */
  readonly keepMs: number;
  /** A follower that did not ask for this long is waited for no longer. */
  readonly absenceMs: number;
  /** For so long after the start all are waited for: nobody could ask while the feed itself was away. 10 minutes if absent. */
  readonly graceMs?: number;
}

/** How a follower stands to the feed. */
interface FollowerState {
  readonly name: string;
  /** Events that it has not passed. */
  readonly lag: number;
  /** Age of the first of those that are kept, 0 if there is none. */
  readonly behindSeconds: number;
  readonly unseenSeconds: number;
}

const batch = 1_000;
const intervalMs = 60_000;
const centuryMs = 100 * 365 * 86_400_000;

/**
 * Drops the bodies of events that are old enough **and** that every follower has passed, oldest first, in small batches;
 * number, id and all else of the row stay. The newest event is always kept, so that a page from before what is kept leads
 * to an event. On every replica; one at a time drops. Says in metrics and in the log (README) who holds events back.
 */
export class FeedRetention extends BackgroundLoop {
  private readonly findEnd: Statement;
  private readonly dropBodies: Statement;
  private readonly findFollowers: string;
  private readonly findOldestAge: string;
  private readonly findUnnumbered: string;
  private readonly gauges: ReturnType<typeof gaugesIn>;
  /** Names that were complained about, so that each is once. */
  private complaints = new Set<string>();
  private readonly startedAt = performance.now();

  constructor(
    private readonly database: Database,
    { table, time }: FeedTable,
    private readonly retention: FeedRetentionOptions,
    metrics: Registry,
    logger: Logger,
  ) {
    super(
      { name: 'drop old events', intervalMs },
      async () => {
        if ((await this.drop()) === batch) return true;
        await this.observe(logger);
        return false;
      },
      logger,
    );
    this.gauges = gaugesIn(metrics);
    this.findEnd = {
      name: 'feed-find-droppable',
      text: `
        SELECT coalesce(min(seq) FILTER (WHERE stays), max(seq) + 1, $1) AS end FROM (
          SELECT feed_seq AS seq, ${time} > now() - $2 * interval '1 millisecond' OR feed_seq > $3
            OR feed_seq = (SELECT max(feed_seq) FROM ${table}) AS stays
          FROM ${table} WHERE feed_seq >= $1 ORDER BY feed_seq LIMIT ${batch}
        ) AS oldest`,
    };
    this.dropBodies = {
      name: 'feed-drop-bodies',
      text: `UPDATE ${table} SET body = NULL, traceparent = NULL WHERE feed_seq >= $1 AND feed_seq < $2`,
    };
    const age = `extract(epoch FROM clock_timestamp() - ${time})::float8`;
    this.findOldestAge = `
      SELECT ${age} AS age FROM ${table} WHERE feed_seq >= (SELECT oldest FROM feed_kept) ORDER BY feed_seq LIMIT 1`;
    this.findUnnumbered = `
      SELECT count(*) AS count FROM ${table} WHERE feed_seq IS NULL AND event_id IS NOT NULL`;
    this.findFollowers = `
      SELECT f.name, greatest(h.head - f.passed, 0) AS lag, coalesce(n.age, 0) AS "behindSeconds",
        extract(epoch FROM clock_timestamp() - f.seen_at)::float8 AS "unseenSeconds"
      FROM feed_head h CROSS JOIN feed_kept k CROSS JOIN feed_followers f
      LEFT JOIN LATERAL (
        SELECT ${age} AS age FROM ${table} WHERE feed_seq >= greatest(f.passed + 1, k.oldest) ORDER BY feed_seq LIMIT 1
      ) n ON true`;
  }

  private get absenceMs(): number {
    const { absenceMs, graceMs = 600_000 } = this.retention;
    return performance.now() - this.startedAt < graceMs ? Math.max(absenceMs, centuryMs) : absenceMs;
  }

  /** @returns how many bodies it dropped, at most 1,000: then there may be more */
  drop(): Promise<number> {
    return this.database.transaction(async (tx) => {
      const [kept] = await tx.query<{ oldest: number }>('SELECT oldest FROM feed_kept FOR UPDATE SKIP LOCKED');
      if (!kept) return 0;
      // In a new statement: a follower that was set back says so before it reads.
      const passed = onlyRow(
        await tx.query<{ by: number | null }>(
          `SELECT min(passed) AS by FROM feed_followers WHERE seen_at > now() - $1 * interval '1 millisecond'`,
          [this.absenceMs],
        ),
      ).by;
      const { end } = onlyRow(
        await tx.query<{ end: number }>(this.findEnd, [kept.oldest, this.retention.keepMs, passed ?? Number.MAX_SAFE_INTEGER]),
      );
      if (end === kept.oldest) return 0;
      const dropped = await tx.execute(this.dropBodies, [kept.oldest, end]);
      await tx.execute('UPDATE feed_kept SET oldest = $1', [end]);
      return dropped;
    });
  }

  private async observe(logger: Logger): Promise<void> {
    const [oldest] = await this.database.query<{ age: number }>(this.findOldestAge);
    const followers = await this.database.query<FollowerState & Record<string, unknown>>(this.findFollowers);
    this.gauges.oldestAge.set(oldest?.age ?? 0);
    this.gauges.unnumbered.set(onlyRow(await this.database.query<{ count: number }>(this.findUnnumbered)).count);
    for (const one of [this.gauges.lag, this.gauges.behind, this.gauges.unseen]) one.reset();
    for (const { name, lag, behindSeconds, unseenSeconds } of followers) {
      this.gauges.lag.set({ follower: name }, lag);
      this.gauges.behind.set({ follower: name }, behindSeconds);
      this.gauges.unseen.set({ follower: name }, unseenSeconds);
    }
    this.complain(followers, logger);
  }

  private complain(followers: readonly FollowerState[], logger: Logger): void {
    const before = this.complaints;
    this.complaints = new Set();
    const once = (key: string, say: () => void): void => {
      this.complaints.add(key);
      if (!before.has(key)) say();
    };
    for (const { name, ...state } of followers) {
      if (state.unseenSeconds * 1_000 > this.absenceMs) {
        once(`absent ${name}`, () =>
          logger.error({ follower: name, ...state }, 'follower of the feed is absent: old events no longer wait for it'));
      } else if (state.behindSeconds * 1_000 > this.retention.keepMs) {
        once(`behind ${name}`, () => logger.warn({ follower: name, ...state }, 'follower holds old events of the feed back'));
      }
    }
  }
}

const gaugesIn = (metrics: Registry) => {
  const registers = [metrics];
  const perFollower = (name: string, help: string) => new Gauge({ name, help, labelNames: ['follower'], registers });
  return {
    oldestAge: new Gauge({ name: 'feed_oldest_age_seconds', help: 'Age of the oldest event that is kept', registers }),
    unnumbered: new Gauge({ name: 'feed_unnumbered', help: 'Events that have no number yet, so that nobody can follow them', registers }),
    lag: perFollower('feed_follower_lag', 'Events that the follower has not passed, and that are kept for it'),
    behind: perFollower('feed_follower_behind_seconds', 'Age of the first event that the follower has not passed'),
    unseen: perFollower('feed_follower_unseen_seconds', 'Time since the follower asked last'),
  };
};
