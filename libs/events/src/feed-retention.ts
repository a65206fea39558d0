import type { Logger } from '@plant-shop/platform/logging';
import type { Database, Statement } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { Gauge, type Registry } from 'prom-client';
import type { FeedTable } from './feed.js';

export interface FeedRetentionOptions {
  /** Minimum age, in milliseconds, at which an event's body may be deleted. */
  readonly keepMs: number;
  /** Milliseconds without a poll after which deletion no longer waits for a follower. */
  readonly absenceMs: number;
  /**
   * Milliseconds after the start during which deletion waits for all followers, since none could poll while the feed was
   * down. Default: 10 minutes.
   */
  readonly graceMs?: number;
}

/** How far a follower is behind the feed. */
interface FollowerState {
  readonly name: string;
  /** Number of events that it has not confirmed. */
  readonly lag: number;
  /** Age of the oldest unconfirmed event that still has its body; 0 without one. */
  readonly behindSeconds: number;
  /** Time since its last poll. */
  readonly unseenSeconds: number;
}

const batch = 1_000;
const intervalMs = 60_000;
const centuryMs = 100 * 365 * 86_400_000;

/**
 * Deletes the bodies of events that are old enough **and** that every follower has confirmed, oldest first, in small
 * batches. The row stays, with its number and id. The newest event always keeps its body, so that a follower that is behind
 * the retained events still arrives at one. Runs on every replica; one deletes at a time. Reports in metrics and in the log
 * (README) which followers hold events back.
 */
export class FeedRetention extends BackgroundLoop {
  private readonly findEnd: Statement;
  private readonly dropBodies: Statement;
  private readonly findFollowers: string;
  private readonly findOldestAge: string;
  private readonly findUnnumbered: string;
  private readonly gauges: ReturnType<typeof gaugesIn>;
  /** Conditions reported in the last run; each is logged once, when it begins. */
  private reported = new Set<string>();
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

  /** @returns the number of bodies deleted, at most 1,000, in which case there may be more */
  drop(): Promise<number> {
    return this.database.transaction(async (tx) => {
      const [kept] = await tx.query<{ oldest: number }>('SELECT oldest FROM feed_kept FOR UPDATE SKIP LOCKED');
      if (!kept) return 0;
      // A second statement, so that it sees a follower that confirmed a lower number after a restore: it does so before it reads.
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
    this.report(followers, logger);
  }

  private report(followers: readonly FollowerState[], logger: Logger): void {
    const before = this.reported;
    this.reported = new Set();
    const once = (key: string, log: () => void): void => {
      this.reported.add(key);
      if (!before.has(key)) log();
    };
    for (const { name, ...state } of followers) {
      if (state.unseenSeconds * 1_000 > this.absenceMs) {
        once(`absent ${name}`, () =>
          logger.error({ follower: name, ...state }, 'follower of the feed is absent: retention no longer waits for it'));
      } else if (state.behindSeconds * 1_000 > this.retention.keepMs) {
        once(`behind ${name}`, () => logger.warn({ follower: name, ...state }, 'follower prevents deletion of old feed events'));
      }
    }
  }
}

const gaugesIn = (metrics: Registry) => {
  const registers = [metrics];
  const perFollower = (name: string, help: string) => new Gauge({ name, help, labelNames: ['follower'], registers });
  return {
    oldestAge: new Gauge({ name: 'feed_oldest_age_seconds', help: 'Age of the oldest retained event', registers }),
    unnumbered: new Gauge({ name: 'feed_unnumbered', help: 'Events without a number, which followers cannot read yet', registers }),
    lag: perFollower('feed_follower_lag', 'Events that the follower has not confirmed'),
    behind: perFollower('feed_follower_behind_seconds', 'Age of the oldest event that the follower has not confirmed'),
    unseen: perFollower('feed_follower_unseen_seconds', 'Time since the last poll of the follower'),
  };
};
