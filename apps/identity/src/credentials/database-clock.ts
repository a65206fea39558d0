import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';

const lookMs = 1_000;
/** A reading that took longer may be wrong by half of it; the one before it, carried on, is better. */
const maxRoundTripMs = 500;

/**
 * The database's clock, by which all credentials begin and end: replicas share it, and their own clocks may differ by minutes.
 * SQL says `now()`; this is for what is decided outside of SQL. Read each second and carried on by the monotonic clock, so that a
 * step of this host's clock changes nothing.
 */
@Injectable()
export class DatabaseClock implements OnApplicationBootstrap, OnApplicationShutdown {
  private reading: { readonly time: number; readonly at: number } | undefined;
  private readonly loop: BackgroundLoop;

  constructor(
    private readonly database: Database,
    @InjectLogger() logger: Logger,
  ) {
    this.loop = new BackgroundLoop({ name: 'database clock', intervalMs: lookMs }, () => this.look(), logger);
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  /** Whoever tells the time before the loop runs calls this first. */
  async look(): Promise<false> {
    const begun = performance.now();
    const time = await readDatabaseTime(this.database);
    const roundTrip = performance.now() - begun;
    if (!this.reading || roundTrip <= maxRoundTripMs) this.reading = { time, at: begun + roundTrip / 2 };
    return false;
  }

  /** In milliseconds since the epoch. */
  now(): number {
    if (!this.reading) throw new Error("the database's clock was not read yet");
    return this.reading.time + performance.now() - this.reading.at;
  }

  /** Whole seconds by which the database's clock is ahead of this host's, at this moment. */
  secondsAhead(): number {
    return Math.round((this.now() - Date.now()) / 1_000);
  }
}

/** In milliseconds since the epoch. */
export async function readDatabaseTime(db: Pick<Transaction, 'query'>): Promise<number> {
  const { time } = onlyRow(
    await db.query<{ time: number }>({
      name: 'read-database-time',
      text: 'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS time',
    }),
  );
  return time;
}
