import type { Logger } from '@plant-shop/platform/logging';
import type { Database, Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { Gauge, type Registry } from 'prom-client';

/** Returns the lowest number still needed, undefined for none. Called in the transaction that deletes. */
export type LowestNeeded = (tx: Transaction) => Promise<number | undefined>;

export interface LogRetentionOptions {
  /** Minimum time, in milliseconds, that an event stays in the log. */
  readonly keepMs: number;
  /** Events from the lowest of these numbers on stay, whatever their age. */
  readonly needs: readonly LowestNeeded[];
}

const batch = 1_000;
const intervalMs = 60_000;

const findEnd: Statement = {
  name: 'log-find-deletable',
  text: `
    SELECT coalesce(min(seq) FILTER (WHERE stays), max(seq) + 1, $1) AS end FROM (
      SELECT seq, logged_at > now() - $2 * interval '1 millisecond' OR seq >= $3 AS stays
      FROM event_log WHERE seq >= $1 ORDER BY seq LIMIT ${batch}
    ) AS oldest`,
};

const findOldestAge = `
  SELECT extract(epoch FROM clock_timestamp() - logged_at)::float8 AS age FROM event_log
  WHERE seq >= (SELECT oldest FROM log_kept) ORDER BY seq LIMIT 1`;

/**
 * Deletes the log's oldest events once they are old enough and no longer needed, in small batches. The event at the
 * watermark stays, because the feed recognises this log by its id. Runs on every replica; one deletes at a time.
 */
export class LogRetention extends BackgroundLoop {
  constructor(
    private readonly database: Database,
    private readonly retention: LogRetentionOptions,
    metrics: Registry,
    logger: Logger,
  ) {
    super(
      { name: 'delete old events', intervalMs },
      async () => {
        if ((await this.sweep()) === batch) return true;
        oldestAge.set((await this.database.query<{ age: number }>(findOldestAge))[0]?.age ?? 0);
        return false;
      },
      logger,
    );
    const oldestAge = new Gauge({
      name: 'event_log_oldest_age_seconds',
      help: 'Time since the oldest event of the log was logged',
      registers: [metrics],
    });
  }

  /** @returns the number of events deleted, at most 1,000, in which case there may be more */
  sweep(): Promise<number> {
    return this.database.transaction(async (tx) => {
      const [kept] = await tx.query<{ oldest: number }>('SELECT oldest FROM log_kept FOR UPDATE SKIP LOCKED');
      if (!kept) return 0;
      // Separate statements, which see what `lockLogForShare` callers have committed since.
      const watermark = onlyRow(await tx.query<{ watermark: number }>('SELECT watermark FROM feed_watermark')).watermark;
      let needed = watermark;
      for (const need of this.retention.needs) needed = Math.min(needed, (await need(tx)) ?? watermark);
      const { end } = onlyRow(await tx.query<{ end: number }>(findEnd, [kept.oldest, this.retention.keepMs, needed]));
      if (end === kept.oldest) return 0;
      const deleted = await tx.execute('DELETE FROM event_log WHERE seq >= $1 AND seq < $2', [kept.oldest, end]);
      await tx.execute('UPDATE log_kept SET oldest = $1', [end]);
      return deleted;
    });
  }
}

/** Returns the number from which on the log has all events that exist. */
export async function oldestLogged(db: Pick<Database | Transaction, 'query'>): Promise<number> {
  return onlyRow(await db.query<{ oldest: number }>({ name: 'log-oldest', text: 'SELECT oldest FROM log_kept' })).oldest;
}

/** Like `oldestLogged`, and blocks deletion until the transaction ends. For transactions that will refer to old events. */
export async function lockLogForShare(tx: Transaction): Promise<number> {
  return onlyRow(await tx.query<{ oldest: number }>('SELECT oldest FROM log_kept FOR SHARE')).oldest;
}
