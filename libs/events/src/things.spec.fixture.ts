import { randomUUID } from 'node:crypto';
import { createLogger, type Logger } from '@plant-shop/platform/logging';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import { createDatabase } from '@plant-shop/service-testing/postgres';
import { Feed, type FeedMessage, type FeedTable } from './feed.js';
import { findWatermark } from './event-log.js';
import { type Advance, Follower, type LoggedRange, type RemoteFeed } from './follower.js';

const migrations = new URL('../test-migrations/', import.meta.url);
const silent = createLogger('test', 'fatal');
const owner = '00000000-0000-4000-8000-000000000001';
export const thingsTable: FeedTable = { table: 'thing_events', subject: 'owner_id', time: 'at' };

export interface LoggedEvent {
  readonly seq: number;
  readonly id: string;
  readonly body: string;
}

async function openDatabase(poolSize: number): Promise<{ database: Database; url: string; close: () => Promise<void> }> {
  const test = await createDatabase(migrations);
  const database = await Database.connect(
    { url: test.url, applicationName: 'test', poolSize, migrations },
    silent,
  );
  return { database, url: test.url, close: () => database.close().then(() => test.disconnect()) };
}

/** A service with things, and a feed of their changes. Test code only. */
export class ThingsService {
  readonly feed: Feed;

  private constructor(
    readonly database: Database,
    readonly close: () => Promise<void>,
  ) {
    this.feed = new Feed(database, thingsTable);
  }

  static async open(): Promise<ThingsService> {
    const { database, close } = await openDatabase(12);
    return new ThingsService(database, close);
  }

  /** Changes things as a service does: locks the rows, appends the events, commits. */
  change(...thingIds: number[]): Promise<void> {
    return this.database.transaction(async (tx) => {
      const sorted = [...new Set(thingIds)].sort((a, b) => a - b);
      await tx.execute('INSERT INTO things (id) SELECT id FROM unnest($1::bigint[]) AS id ORDER BY id ON CONFLICT DO NOTHING', [sorted]);
      const things = await tx.query<{ id: number; version: number }>(
        `UPDATE things SET version = version + 1 FROM (SELECT id FROM things WHERE id = ANY($1) ORDER BY id FOR UPDATE) AS locked
         WHERE things.id = locked.id RETURNING things.id, version`,
        [sorted],
      );
      await tx.execute(
        `INSERT INTO thing_events (thing_id, version, owner_id, event_id, body)
         SELECT t.id, t.version, $3::uuid, t.event_id, t.body
         FROM unnest($1::bigint[], $2::bigint[], $4::uuid[], $5::text[]) AS t (id, version, event_id, body)`,
        [
          things.map((one) => one.id),
          things.map((one) => one.version),
          owner,
          things.map(() => randomUUID()),
          things.map((one) => JSON.stringify(one)),
        ],
      );
    });
  }

  async numberAll(): Promise<FeedMessage[]> {
    const messages: FeedMessage[] = [];
    for (;;) {
      const message = await this.feed.number();
      if (!message) return messages;
      messages.push(message);
    }
  }

  numbered(): Promise<LoggedEvent[]> {
    return this.database.query<LoggedEvent & Record<string, unknown>>(
      'SELECT feed_seq AS seq, event_id AS id, body FROM thing_events WHERE feed_seq IS NOT NULL ORDER BY feed_seq',
    );
  }
}

/** Applies the consequences of events, in the transaction that logs them. */
type Apply = (tx: Transaction, advance: Advance) => Promise<void>;

/** A service that follows the feed, and records what it announces. Test code only. */
export class FollowingService {
  readonly advances: LoggedRange[] = [];
  follower: Follower;

  private constructor(
    readonly database: Database,
    readonly databaseUrl: string,
    private readonly closeDatabase: () => Promise<void>,
    feed: RemoteFeed,
    private readonly apply: Apply,
    private readonly logger: Logger,
  ) {
    this.follower = this.create(feed);
  }

  static async open(feed: RemoteFeed, apply: Apply = async () => undefined, logger = silent): Promise<FollowingService> {
    const { database, url, close } = await openDatabase(4);
    return new FollowingService(database, url, close, feed, apply, logger);
  }

  /** Starts a new follower on the same data, as a new process would; the previous one must have been stopped. */
  restart(feed: RemoteFeed): void {
    this.follower = this.create(feed);
    this.follower.start();
  }

  /** Starts another replica on the same data. The caller stops it. */
  startReplica(feed: RemoteFeed): Follower {
    const replica = this.create(feed);
    replica.start();
    return replica;
  }

  private create(feed: RemoteFeed): Follower {
    const onAdvance = async (tx: Transaction, advance: Advance) => {
      await this.apply(tx, advance);
      return (logged: LoggedRange) => void this.advances.push(logged);
    };
    return new Follower(this.database, { feed, onAdvance }, this.logger);
  }

  async watermark(): Promise<number> {
    return (await findWatermark(this.database)).seq;
  }

  /** Returns the delivered events: up to the watermark, without repetitions. */
  log(): Promise<LoggedEvent[]> {
    return this.database.query<LoggedEvent & Record<string, unknown>>(
      `SELECT seq, event_id AS id, body FROM event_log, feed_watermark
       WHERE seq <= watermark AND NOT repeats ORDER BY seq`,
    );
  }

  async close(): Promise<void> {
    await this.follower.stop();
    await this.closeDatabase();
  }
}
