import { Injectable } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { Database, type Transaction, type TransactionOptions } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';

/** SQL: the queue's time, which `QueueClock.transaction` sets. A subquery, so that it is evaluated once. */
export const queueNow = `(SELECT current_setting('shop.queue_time')::timestamptz)`;

/** SQL: how far the queue's time is ahead of the database's clock. */
export const queueAhead = '(SELECT ahead FROM webhook_clock)';

const intervalMs = 1_000;
/** Larger differences are steps of the database's clock; smaller ones are delays and drift. */
const toleranceMs = 500;
/** How much slower than this process's monotonic clock the database's may run in a second. */
const maxDriftMs = 2;
/** How old `seen` may become. */
const seenMs = 10_000;

interface Reading {
  /** The queue's time, in milliseconds since 1970. */
  readonly time: number;
  /** The time that some replica has seen. */
  readonly seen: number;
}

const reading = `SELECT extract(epoch FROM clock_timestamp() + ahead)::float8 * 1000 AS time, extract(epoch FROM seen)::float8 * 1000 AS seen
  FROM webhook_clock`;

/**
 * The time by which deliveries, turns and pauses are due. It follows the clock of notifications' database, and never goes back:
 * otherwise everything would wait as long as that clock was set back. Each replica continues its last reading by its own monotonic
 * clock, and compares it with the database every second. The first that finds the database's clock behind records the difference in
 * `webhook_clock`. A clock set forward makes deliveries due early and ends leases, whose deliveries may be sent twice.
 */
@Injectable()
export class QueueClock extends BackgroundLoop {
  /** The last reading, and when it was made by `performance.now`. */
  private last: { readonly time: number; readonly at: number } | undefined;

  constructor(
    private readonly database: Database,
    @InjectLogger() logger: Logger,
  ) {
    super({ name: 'compare clocks', intervalMs, isTraced: false }, () => this.compare(), logger);
  }

  /** Runs a transaction in the queue's time: the functions of the queue fail in any other. */
  transaction<T>(work: (tx: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T> {
    return this.database.transaction(async (tx) => {
      const time = new Date(this.now ?? (await this.firstReading(tx))).toISOString();
      tx.send({ name: 'webhooks-set-time', text: `SELECT set_config('shop.queue_time', $1, true)` }, [time]);
      return work(tx);
    }, options);
  }

  /**
   * Moves the queue's time ahead. Other replicas notice it within a second.
   * @returns false, without an effect, if it would be more than 5,000 years ahead: dates have four digits
   */
  async advance(seconds: number): Promise<boolean> {
    const by = `ahead + $1 * interval '1 second'`;
    const moved = await this.database.query(`UPDATE webhook_clock SET ahead = ${by} WHERE extract(epoch FROM ${by}) < 5000 * 31556952.0 RETURNING 1`, [seconds]);
    if (moved.length === 0) return false;
    await this.compare();
    return true;
  }

  /** On the transaction's connection: many transactions begin at once, and would wait for each other's. */
  private async firstReading(tx: Transaction): Promise<number> {
    const { time, seen } = onlyRow(await tx.query<Reading>({ name: 'webhooks-read-clock', text: reading }));
    this.last ??= { time: Math.max(time, seen), at: performance.now() };
    return Math.max(time, seen);
  }

  private get now(): number | undefined {
    const { last } = this;
    return last ? last.time + performance.now() - last.at : undefined;
  }

  private async compare(): Promise<boolean> {
    // Not the time at which the answer is handled: on a busy machine that may be seconds later.
    const asked = this.now ?? 0;
    const { time, seen } = onlyRow(await this.database.query<Reading>({ name: 'webhooks-read-clock', text: reading }));
    const expected = Math.max(asked, seen);
    if (time < expected - toleranceMs) await this.correct(expected);
    else this.last = { time: Math.max(time, expected - maxDriftMs), at: performance.now() };
    if (time > seen + seenMs) await this.noteSeen();
    return false;
  }

  /** Moves the queue's time forward to what it should be, unless another replica has done so. */
  private async correct(expected: number): Promise<void> {
    this.last ??= { time: expected, at: performance.now() };
    const byMs = await this.database.transaction(async (tx) => {
      const asked = this.now ?? 0;
      const { time } = onlyRow(await tx.query<Reading>(`${reading} FOR UPDATE`));
      const back = asked - time;
      if (back > toleranceMs) await tx.execute(`UPDATE webhook_clock SET ahead = ahead + $1 * interval '1 millisecond'`, [back]);
      return back;
    });
    if (byMs > toleranceMs) this.logger.warn({ byMs }, "the clock of notifications' database was set back; the queue of webhooks continues");
  }

  private async noteSeen(): Promise<void> {
    await this.database.transaction((tx) =>
      tx.execute(`UPDATE webhook_clock SET seen = clock_timestamp() + ahead WHERE seen < clock_timestamp() + ahead - $1 * interval '1 millisecond'`, [seenMs]),
    );
  }
}
