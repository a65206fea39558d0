import type { Logger } from '@plant-shop/platform/logging';
import type { Nats } from '@plant-shop/platform/nats';
import type { Database, Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { tracing } from '@plant-shop/platform/telemetry/tracing';

/** One event of a feed. Id and body never change: every reader gets the same bytes, at any time. */
export interface FeedEvent {
  /** 1, 2, 3, … without gaps. Followers track their progress by it. */
  readonly seq: number;
  /** UUIDv7 */
  readonly id: string;
  /** The account that may see the event, or a constant of the service for one that depends on permissions. */
  readonly subject: string;
  /** As clients receive it: serialised once, by the service where the event happened. */
  readonly body: string;
  /** Trace context of the change, when it was traced (W3C Trace Context). Internal: clients never receive it. */
  readonly traceparent?: string;
}

/** The end of a feed. */
export interface FeedHead {
  /**
   * Names one history. A restore or failover begins a new one above all earlier numbers; skipped numbers are never assigned.
   */
  readonly epoch: string;
  /** The last number assigned. */
  readonly head: number;
}

/** A position in a feed: the last event that a follower has. `seq` 0 without an id is the beginning. */
export interface FeedPosition {
  readonly seq: number;
  readonly id?: string;
}

/** Events that were just numbered. `events` is empty when they are too large for one message. */
export interface FeedMessage extends FeedHead {
  /** The event before the first one, in the feed's current history. */
  readonly after: FeedPosition;
  /**
   * Followers may delay this message and log it together with the next ones: at most 50 ms (150 ms on replicas that stand by while
   * another one logs), or until 32 messages wait.
   */
  readonly mayWait?: boolean;
  readonly events: readonly FeedEvent[];
}

/** The events after a position. */
export interface FeedPage extends FeedHead {
  /** Whether the position is part of this history. If not, one of the two databases was restored: `Feed.startEpoch`. */
  readonly matches: boolean;
  /**
   * The number at which the feed continues after the position: the next one, or a higher one when the events between were
   * deleted for their age or lost with a history.
   */
  readonly next: number;
  /** The feed failed over after the position, and left out the numbers before `next`: no event is missing between. */
  readonly nothingLost?: boolean;
  /** The first number of `epoch`; earlier events belong to earlier epochs. Absent in the first epoch. */
  readonly epochBegins?: number;
  /** From `next` on, with consecutive numbers. */
  readonly events: readonly FeedEvent[];
}

/** Polling is a safety net: services notify after each commit of an event that their own transaction did not number. */
const intervalMs = 500;

/**
 * Numbers new events and publishes them over core NATS: with the events, or with the head alone when they are too
 * large for a message. Lost, late and duplicate messages are harmless, since followers pull what they miss.
 */
export class FeedNumberer extends BackgroundLoop {
  constructor(
    feed: Feed,
    private readonly nats: Nats,
    private readonly subject: string,
    logger: Logger,
  ) {
    let epoch: string | undefined;
    super(
      { name: 'number feed', intervalMs },
      async () => {
        const message = await feed.number();
        if (message) this.publish(message);
        if (message && epoch !== undefined && message.epoch !== epoch) {
          logger.warn({ epoch: message.epoch, head: message.head }, 'the feed began a new epoch: the database was failed over or restored');
        }
        epoch = message?.epoch ?? epoch;
        // Events committed after this run's snapshot have notified the loop of their replica.
        return message?.events.length === maxNumberedPerRun;
      },
      logger,
    );
  }

  /** Publishes newly numbered events to followers, also those that their own transaction numbered. */
  publish(message: FeedMessage): void {
    this.nats.announce(this.subject, message, { ...message, events: [] });
  }
}

/**
 * The table that a service appends its events to, in the transaction of the change that they describe. Its columns include
 * `position` (identity: the order in which changes drew it; not a FeedPosition), `event_id`, `body` (null once `FeedRetention` has deleted
 * it), `traceparent` (null for untraced changes) and `feed_seq` (unique, null until numbered). The feed ignores rows without an event id. The service's schema
 * also has the feed's own tables (README).
 */
export interface FeedTable {
  readonly table: string;
  /** The column with the account that may see the event. */
  readonly subject: string;
  /** The column with the time of the event. */
  readonly time: string;
  /** SQL: an assignment to the row of an event that loses its number, because the feed's history is not the followers'. */
  readonly whenCleared?: string;
}

/** The most events that one run numbers. */
export const maxNumberedPerRun = 1_000;
/**
 * The most numbers that one statement clears. A busy machine cleared 23,000 a second, and a statement ends after 15 s: a single one
 * would never succeed for a follower that returns hours after a restore.
 */
const maxClearedAtOnce = 20_000;
/** A page has to fit into one RPC batch. */
const maxPageBytes = 512 * 1024;

/**
 * More events than a promoted replica can lack. When a history may have lost its last events, numbering skips this many
 * numbers, so that none of the lost ones is assigned again.
 */
const failoverSkip = 1_000_000;
/** The WAL timeline that this server writes: each promotion and each point-in-time recovery begins a new one. */
const currentWalTimeline = `substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)`;

/**
 * Returns SQL for the statement that appends events: it assigns their numbers in the same transaction, which saves an update
 * of each row and a second transaction. No event of the same entity (an order) may still wait for its number. It never waits for the lock,
 * whose holder may be paused. While another transaction numbers, and after a failover, it returns no row; append the events without numbers then.
 * @param count SQL expression for the number of events; the last one gets the number `head`
 * @param options `also`: an assignment to a column that the service has added to its `feed_head`; `provided`: a condition without which it
 * returns no row, either
 */
export const assignNumbers = (count: string, { also, provided = 'true' }: { readonly also?: string; readonly provided?: string } = {}): string => `
  UPDATE feed_head SET head = head + ${count}${also === undefined ? '' : `, ${also}`}
  WHERE only_row = (SELECT only_row FROM feed_head WHERE timeline = ${currentWalTimeline} AND ${provided} FOR UPDATE SKIP LOCKED)
  RETURNING epoch, head`;

/** Estimated size of an event in a page: the body, and 200 bytes for member names, quotes, id and subject. */
const bytesOf = (event: FeedEvent): number => Buffer.byteLength(event.body) + 200;

export class Feed {
  private readonly lockHeadToNumber: Statement;
  private readonly findUnnumbered: Statement;
  private readonly setNumbers: Statement;
  private readonly findId: Statement;
  private readonly readPage: Statement;
  private readonly clearNumbers: string;

  constructor(
    private readonly database: Database,
    { table, subject, whenCleared }: FeedTable,
  ) {
    const event = `feed_seq AS seq, event_id AS id, ${subject} AS subject, body, traceparent`;
    const unnumbered = `SELECT position FROM ${table} WHERE feed_seq IS NULL AND event_id IS NOT NULL ORDER BY position`;
    // Locks only if there is something to number: a row lock is a write, which waits for the disk. EXISTS would drop the ORDER BY,
    // and with it the index.
    this.lockHeadToNumber = {
      name: 'feed-lock-head-to-number',
      text: `
        SELECT epoch, head, timeline = ${currentWalTimeline} AS "isSameWalTimeline" FROM feed_head
        WHERE (${unnumbered} LIMIT 1) IS NOT NULL FOR UPDATE`,
    };
    this.findUnnumbered = { name: 'feed-find-unnumbered', text: `${unnumbered} LIMIT ${maxNumberedPerRun}` };
    this.setNumbers = {
      name: 'feed-set-numbers',
      text: `
        WITH numbered AS (
          UPDATE ${table} AS t SET feed_seq = $2::bigint + n.n
          FROM unnest($1::bigint[]) WITH ORDINALITY AS n (position, n)
          WHERE t.position = n.position AND t.feed_seq IS NULL AND t.event_id IS NOT NULL
          RETURNING ${event}
        )
        SELECT * FROM numbered ORDER BY seq`,
    };
    this.findId = { name: 'feed-find-id', text: `SELECT event_id AS id FROM ${table} WHERE feed_seq = $1` };
    // A position in a break is a number that a lost history assigned after the last common event (`continues_after`). At that event
    // itself the feed also continues after the break, but the event exists, so its id must match.
    this.readPage = {
      name: 'feed-read-page',
      text: `
        SELECT h.epoch, h.head, n.next, coalesce(b.inside, false) AS "isInBreak", coalesce(NOT b.inside AND k.oldest <= b.begins_at, false) AS "isAtBreak",
          (SELECT max(begins_at) FROM feed_breaks) AS "epochBegins",
          EXISTS (SELECT 1 FROM ${table} WHERE feed_seq = $1 AND event_id = $2) AS "isHere", e.seq, e.id, e.subject, e.body, e.traceparent
        FROM feed_head h CROSS JOIN feed_kept k
        CROSS JOIN LATERAL (
          SELECT max(begins_at) AS begins_at, bool_or(continues_after < $1) AS inside
          FROM feed_breaks WHERE continues_after <= $1 AND $1 < begins_at
        ) b
        CROSS JOIN LATERAL (SELECT greatest($1 + 1, b.begins_at, k.oldest) AS next) n
        LEFT JOIN LATERAL (SELECT ${event} FROM ${table} WHERE feed_seq >= n.next ORDER BY feed_seq LIMIT $3) e ON true
        ORDER BY e.seq`,
    };
    this.clearNumbers = `UPDATE ${table} SET feed_seq = NULL${whenCleared ? `, ${whenCleared}` : ''} WHERE feed_seq > $1 AND feed_seq <= $2`;
  }

  /**
   * Numbers events that have no number yet, one replica at a time, in one short transaction. Locking and reading are two
   * statements: a single one would read the snapshot taken before the lock wait and leave permanent gaps. Rows are read by
   * `position`, which is drawn under the lock of the entity that changes (an order), so the events of one entity are numbered in order.
   *
   * A changed WAL timeline means that the database failed over to a replica, which may lack the last events, while followers
   * may have them. A new epoch then begins first, so that the numbers of lost events are never assigned again.
   * @returns the events numbered, at most 1,000, in which case more may be waiting. Undefined if there are none
   */
  number(): Promise<FeedMessage | undefined> {
    return this.database.transaction(async (tx) => {
      const [[locked], unnumbered] = await Promise.all([
        tx.query<LockedHead>(this.lockHeadToNumber),
        tx.query<{ position: number }>(this.findUnnumbered),
      ]);
      // Events that only the second statement found, without the lock, are left to the next run. With the lock but without events: another
      // replica numbered them first.
      if (!locked || unnumbered.length === 0) return undefined;
      const before = locked.isSameWalTimeline ? locked : await beginEpoch(tx, { agreed: locked.head, last: locked.head + failoverSkip });
      const head = before.head + unnumbered.length;
      tx.send({ name: 'feed-set-head', text: 'UPDATE feed_head SET head = $1' }, [head]);
      const [rows, [previous]] = await Promise.all([
        tx.query<EventRow>(this.setNumbers, [unnumbered.map((row) => row.position), before.head]),
        tx.query<{ id: string }>(this.findId, [before.head]),
      ]);
      const events = rows.map(toEvent);
      tracing?.causedBy(events.map((one) => one.traceparent));
      const last = events.at(-1)?.seq;
      if (events.length !== unnumbered.length || last !== head) throw new Error(`numbering would leave a gap: ${String(last)} of ${head}`);
      return { epoch: before.epoch, head, after: { seq: before.head, ...previous }, events };
    }, { useGenericPlans: true });
  }

  async head(): Promise<FeedHead> {
    return onlyRow(await this.database.query<FeedHead>('SELECT epoch, head FROM feed_head'));
  }

  /**
   * Returns the events after a position, and the head of the same snapshot: at most `limit` events, and about 512 KiB. When
   * the next events no longer exist (deleted for their age, or lost with a history), `next` is where the feed continues.
   */
  async read(position: FeedPosition, limit: number): Promise<FeedPage> {
    const rows = await this.database.query<PageRow>(this.readPage, [position.seq, position.id ?? null, limit]);
    const [first] = rows;
    if (!first) throw new Error('feed_head has no row');
    const { epoch, epochBegins, head, next, isHere, isInBreak, isAtBreak } = first;
    const isCommon = position.seq === 0 || isHere;
    return {
      ...{ epoch, head, next, matches: isCommon || isInBreak, events: cutToBytes(rows) },
      ...(isCommon && isAtBreak && { nothingLost: true }),
      ...(epochBegins !== null && { epochBegins }),
    };
  }

  /**
   * Resolves a conflict with a follower that has numbers which this history does not have, after a restore from a backup.
   * Events numbered since the two last agreed get new numbers, above every number ever assigned, under a new epoch.
   * Repeating the call changes nothing.
   * @param known the follower's last number
   * @param agreed the last number at which both have the same event
   */
  startEpoch(known: number, agreed: number): Promise<FeedHead> {
    return this.database.transaction(async (tx) => {
      const { epoch, head, isSameWalTimeline } = await lockHead(tx);
      const alreadyResolved = await tx.query(
        'SELECT 1 FROM feed_breaks WHERE continues_after <= $2 AND begins_at > $1',
        [known, agreed],
      );
      if (alreadyResolved.length > 0) return { epoch, head };
      const last = Math.max(head, known) + (isSameWalTimeline ? 0 : failoverSkip);
      const oldest = onlyRow(await tx.query<{ oldest: number }>('SELECT oldest FROM feed_kept FOR UPDATE')).oldest;
      // Events whose bodies are deleted cannot be delivered again, so they keep their numbers.
      for (let after = Math.max(agreed, oldest - 1); after < head; after += maxClearedAtOnce) {
        await tx.execute(this.clearNumbers, [after, after + maxClearedAtOnce]);
      }
      if (agreed < oldest - 1) await tx.execute('UPDATE feed_kept SET oldest = $1', [last + 1]);
      return beginEpoch(tx, { agreed, last });
    });
  }

  /**
   * Like `read`, and registers the follower, which confirms all events up to the position: `FeedRetention` keeps what a
   * registered follower has not confirmed.
   */
  async readFor(follower: string, position: FeedPosition, limit: number): Promise<FeedPage> {
    await this.database.query(confirm, [follower, position.seq]);
    return this.read(position, limit);
  }
}

/** Records how far a follower has confirmed. Skips the upsert while it would change nothing: ON CONFLICT locks the row even then, which would make every poll a write. */
const confirm: Statement = {
  name: 'feed-confirm',
  text: `
    INSERT INTO feed_followers (name, passed, seen_at)
    SELECT $1::text, $2::bigint, now()
    WHERE NOT EXISTS (SELECT 1 FROM feed_followers WHERE name = $1 AND passed = $2 AND seen_at >= now() - interval '10 seconds')
    ON CONFLICT (name) DO UPDATE SET passed = excluded.passed, seen_at = excluded.seen_at`,
};

interface PageRow extends FeedHead {
  readonly next: number;
  readonly epochBegins: number | null;
  readonly isHere: boolean;
  readonly isInBreak: boolean;
  /** The position is the last one before a break. */
  readonly isAtBreak: boolean;
  /** Null in the only row of a page without events. */
  readonly seq: number | null;
  readonly id: string;
  readonly subject: string;
  readonly body: string;
  readonly traceparent: string | null;
}

type EventRow = Omit<FeedEvent, 'traceparent'> & { readonly traceparent: string | null };

const toEvent = ({ seq, id, subject, body, traceparent }: EventRow): FeedEvent =>
  traceparent === null ? { seq, id, subject, body } : { seq, id, subject, body, traceparent };

/** Returns the leading events that fit into a page, at least one. */
function cutToBytes(rows: readonly PageRow[]): FeedEvent[] {
  const events: FeedEvent[] = [];
  let bytes = 0;
  for (const { seq, ...row } of rows) {
    if (seq === null) break;
    const event = toEvent({ seq, ...row });
    bytes += bytesOf(event);
    const before = events.at(-1)?.seq;
    // A page never crosses the start of an epoch.
    if (before !== undefined && (bytes > maxPageBytes || seq > before + 1)) break;
    events.push(event);
  }
  return events;
}

/**
 * Begins an epoch because the history after `agreed` is lost or was renumbered. The next event gets the number after `last`.
 * @returns the feed's new head
 */
async function beginEpoch(tx: Transaction, { agreed, last }: { agreed: number; last: number }): Promise<FeedHead> {
  const begun = onlyRow(
    await tx.query<FeedHead>(
      `UPDATE feed_head SET epoch = gen_random_uuid(), head = $1, timeline = ${currentWalTimeline} RETURNING epoch, head`,
      [last],
    ),
  );
  await tx.execute('INSERT INTO feed_breaks (begins_at, continues_after, epoch) VALUES ($1, $2, $3)', [last + 1, agreed, begun.epoch]);
  return begun;
}

interface LockedHead extends FeedHead {
  readonly isSameWalTimeline: boolean;
}

async function lockHead(tx: Transaction): Promise<LockedHead> {
  const text = `SELECT epoch, head, timeline = ${currentWalTimeline} AS "isSameWalTimeline" FROM feed_head FOR UPDATE`;
  return onlyRow(await tx.query<LockedHead>({ name: 'feed-lock-head', text }));
}
