import { Injectable } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { Database, type Reader } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';

const refreshIntervalMs = 1_000;
/** A slower reading may be off by half its round trip; extrapolating the previous one is more accurate. */
const maxRoundTripMs = 500;

/**
 * The database's clock, which decides when all credentials begin and end: replicas share it, while their own clocks may differ by
 * minutes. SQL uses `now()`; this class serves decisions made outside SQL. It reads the time each second and extrapolates with the
 * monotonic clock, so steps of this host's clock have no effect.
 */
@Injectable()
export class DatabaseClock extends BackgroundLoop {
  private reading: { readonly time: number; readonly at: number } | undefined;

  constructor(
    private readonly database: Database,
    @InjectLogger() logger: Logger,
  ) {
    super({ name: 'database clock', intervalMs: refreshIntervalMs }, () => this.refresh(), logger);
  }

  /** Reads the database's time. Code that needs the time before the loop starts must call this first. */
  async refresh(): Promise<false> {
    const startedAt = performance.now();
    const time = await readDatabaseTime(this.database);
    const roundTrip = performance.now() - startedAt;
    if (!this.reading || roundTrip <= maxRoundTripMs) this.reading = { time, at: startedAt + roundTrip / 2 };
    return false;
  }

  /** Returns the database's time in milliseconds since the epoch. */
  now(): number {
    if (!this.reading) throw new Error("the database's clock has not been read yet");
    return this.reading.time + performance.now() - this.reading.at;
  }

  /** Returns by how many whole seconds the database's clock is ahead of this host's clock now. */
  secondsAhead(): number {
    return Math.round((this.now() - Date.now()) / 1_000);
  }
}

/** Returns the database's time in milliseconds since the epoch. */
export async function readDatabaseTime(db: Reader): Promise<number> {
  const { time } = onlyRow(
    await db.query<{ time: number }>({
      name: 'read-database-time',
      text: 'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS time',
    }),
  );
  return time;
}
