import type { Database, Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { tracing } from '@plant-shop/platform/telemetry/tracing';
import type { FeedEvent, FeedHead, FeedNudge, FeedPage, FeedPosition } from './event.js';

/**
 * The table that a service appends its events to, in the transaction of the change that they tell of. It has the columns
 * `position` (identity), `event_id`, `body` (null once it was dropped for its age: `FeedRetention`), `traceparent` (null when
 * nobody traces) and `feed_seq` (unique, null until numbered); a row without an event id is none of the feed's. The service's schema also has the feed's own tables
 * (README).
 */
export interface FeedTable {
  readonly table: string;
  /** The column that says whose event it is. */
  readonly subject: string;
  /** The column that says when it happened. */
  readonly time: string;
}

/** Events that are numbered together at most. */
export const maxNumberedPerRun = 1_000;
/** A page travels in one frame. */
const maxPageBytes = 512 * 1024;

/**
 * More events than a replica can have lost when it is promoted: where a history may have lost its tail, numbers go on
 * beyond what the tail could have used.
 */
const mostLost = 1_000_000;
/** Of the WAL that this server writes: a promotion and a point-in-time recovery each begin another one. */
const currentTimeline = `substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)`;

/**
 * SQL of a part of the statement that appends events: gives them their numbers in their own transaction, which spares an update of
 * each row and a transaction. Only for events that none of their subject comes before, since earlier ones may wait for `number`.
 * Waits for nobody: whoever holds the lock may have been paused. Returns no row while another transaction numbers and after a
 * failover; the events are then appended without numbers.
 * @param count SQL of how many there are: they are numbered up to `head`
 */
export const assignNumbers = (count: string): string => `
  UPDATE feed_head SET head = head + ${count}
  WHERE only_row = (SELECT only_row FROM feed_head WHERE timeline = ${currentTimeline} FOR UPDATE SKIP LOCKED)
  RETURNING epoch, head`;

/** What an event costs beside its body: names, quotes, id and subject. */
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
    { table, subject }: FeedTable,
  ) {
    const event = `feed_seq AS seq, event_id AS id, ${subject} AS subject, body, traceparent`;
    const unnumbered = `SELECT position FROM ${table} WHERE feed_seq IS NULL AND event_id IS NOT NULL ORDER BY position`;
    // A lock is a write, which waits for the disk: none without an event. Not EXISTS, which would lose the order, and with it
    // the index.
    this.lockHeadToNumber = {
      name: 'feed-lock-head-to-number',
      text: `
        SELECT epoch, head, timeline = ${currentTimeline} AS "isSameTimeline" FROM feed_head
        WHERE (${unnumbered} LIMIT 1) IS NOT NULL OR timeline <> ${currentTimeline} FOR UPDATE`,
    };
    this.findUnnumbered = { name: 'feed-find-unnumbered', text: `${unnumbered} LIMIT ${maxNumberedPerRun}` };
    this.setNumbers = {
      name: 'feed-set-numbers',
      text: `
        WITH numbered AS (
          UPDATE ${table} AS t SET feed_seq = $2::bigint + n.n
          FROM unnest($1::bigint[]) WITH ORDINALITY AS n (position, n)
          WHERE t.position = n.position AND t.feed_seq IS NULL
          RETURNING ${event}
        )
        SELECT * FROM numbered ORDER BY seq`,
    };
    this.findId = { name: 'feed-find-id', text: `SELECT event_id AS id FROM ${table} WHERE feed_seq = $1` };
    this.readPage = {
      name: 'feed-read-page',
      text: `
        SELECT h.epoch, h.head, n.next, coalesce(b.inside, false) AS "isInBreak",
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
    this.clearNumbers = `UPDATE ${table} SET feed_seq = NULL WHERE feed_seq > $1`;
  }

  /**
   * Numbers what is not numbered yet, one replica at a time, in a short transaction of separate statements: one statement
   * that locked and looked would look at the time before its wait, and leave holes that never close. Rows are taken by the
   * position that was drawn under the lock of what they tell of, so the events of one thing are numbered in their order.
   *
   * On another timeline than before, the database was failed over to a replica, which may have lacked the last events.
   * Followers may have them. A new epoch begins first, so that the numbers of lost events are never given again.
   * @returns the events numbered, at most 1,000; more may be waiting then. Undefined: there was none, and no new epoch
   */
  number(): Promise<FeedNudge | undefined> {
    return this.database.transaction(async (tx) => {
      const [[locked], unnumbered] = await Promise.all([
        tx.query<FeedHead & { isSameTimeline: boolean }>(this.lockHeadToNumber),
        tx.query<{ position: number }>(this.findUnnumbered),
      ]);
      if (!locked) return undefined;
      const before = locked.isSameTimeline ? locked : await beginEpoch(tx, { agreed: locked.head, last: locked.head + mostLost });
      // Without the lock, what was found has come meanwhile, and is the next run's. With it, another replica may have been faster.
      if (unnumbered.length === 0) return locked.isSameTimeline ? undefined : { ...before, after: { seq: before.head }, events: [] };
      const head = before.head + unnumbered.length;
      tx.send({ name: 'feed-set-head', text: 'UPDATE feed_head SET head = $1' }, [head]);
      const [rows, [previous]] = await Promise.all([
        tx.query<EventRow>(this.setNumbers, [unnumbered.map((row) => row.position), before.head]),
        tx.query<{ id: string }>(this.findId, [before.head]),
      ]);
      const events = rows.map(toEvent);
      tracing?.causedBy(events.map((one) => one.traceparent));
      const last = events.at(-1)?.seq;
      if (events.length !== unnumbered.length || last !== head) throw new Error(`the feed would have a hole: ${String(last)} of ${head}`);
      return { epoch: before.epoch, head, after: { seq: before.head, ...previous }, events };
    }, { useGenericPlans: true });
  }

  async head(): Promise<FeedHead> {
    return onlyRow(await this.database.query<FeedHead>('SELECT epoch, head FROM feed_head'));
  }

  /**
   * What comes after a place, of one snapshot with the head; at most `limit` events, and about 512 KiB. Where what comes
   * next is no more (dropped for its age, lost with a history), the page says so by `next`.
   */
  async read(place: FeedPosition, limit: number): Promise<FeedPage> {
    const rows = await this.database.query<PageRow>(this.readPage, [place.seq, place.id ?? null, limit]);
    const [first] = rows;
    if (!first) throw new Error('the feed has no head');
    const { epoch, head, next, isHere, isInBreak } = first;
    return { epoch, head, matches: place.seq === 0 || isHere || isInBreak, next, events: cutToBytes(rows) };
  }

  /**
   * A follower knows numbers that this history does not have: the database was restored from a backup. What it numbered
   * since it last agreed with the follower gets new numbers, above all that were ever given, under a new epoch. Repeating
   * it changes nothing.
   * @param known the follower's last number
   * @param agreed the last number at which both have the same event
   */
  startNewEpoch(known: number, agreed: number): Promise<FeedHead> {
    return this.database.transaction(async (tx) => {
      const { epoch, head } = await lockHead(tx);
      const isKnown = await tx.query(
        'SELECT 1 FROM feed_breaks WHERE continues_after <= $2 AND begins_at > $1',
        [known, agreed],
      );
      if (isKnown.length > 0) return { epoch, head };
      const last = Math.max(head, known);
      const oldest = onlyRow(await tx.query<{ oldest: number }>('SELECT oldest FROM feed_kept FOR UPDATE')).oldest;
      // What was dropped cannot be told again: it keeps its numbers.
      await tx.execute(this.clearNumbers, [Math.max(agreed, oldest - 1)]);
      if (agreed < oldest - 1) await tx.execute('UPDATE feed_kept SET oldest = $1', [last + 1]);
      return beginEpoch(tx, { agreed, last });
    });
  }

  /** Like `read`, for a registered follower: what it asks from on, it has passed. */
  async readFor(follower: string, place: FeedPosition, limit: number): Promise<FeedPage> {
    await this.notePassed(follower, place.seq);
    return this.read(place, limit);
  }

  /** Followers are waited for when old events are dropped: `FeedRetention`. */
  private async notePassed(follower: string, seq: number): Promise<void> {
    await this.database.query(notePassed, [follower, seq]);
  }
}

/** The row is looked at first: a conflict locks it, also where it changes nothing, and that is a write for each question. */
const notePassed: Statement = {
  name: 'feed-note-passed',
  text: `
    INSERT INTO feed_followers (name, passed, seen_at)
    SELECT $1::text, $2::bigint, now()
    WHERE NOT EXISTS (SELECT 1 FROM feed_followers WHERE name = $1 AND passed = $2 AND seen_at >= now() - interval '10 seconds')
    ON CONFLICT (name) DO UPDATE SET passed = excluded.passed, seen_at = excluded.seen_at`,
};

interface PageRow extends FeedHead {
  readonly next: number;
  readonly isHere: boolean;
  readonly isInBreak: boolean;
  /** Null in the one row of a page without events. */
  readonly seq: number | null;
  readonly id: string;
  readonly subject: string;
  readonly body: string;
  readonly traceparent: string | null;
}

type EventRow = Omit<FeedEvent, 'traceparent'> & { readonly traceparent: string | null };

const toEvent = ({ seq, id, subject, body, traceparent }: EventRow): FeedEvent =>
  traceparent === null ? { seq, id, subject, body } : { seq, id, subject, body, traceparent };

/** At least one event fits. */
function cutToBytes(rows: readonly PageRow[]): FeedEvent[] {
  const events: FeedEvent[] = [];
  let bytes = 0;
  for (const { seq, ...row } of rows) {
    if (seq === null) break;
    const event = toEvent({ seq, ...row });
    bytes += bytesOf(event);
    const before = events.at(-1)?.seq;
    // Where a later epoch begins, another page does.
    if (before !== undefined && (bytes > maxPageBytes || seq > before + 1)) break;
    events.push(event);
  }
  return events;
}

/**
 * The history after `agreed` is lost or was renumbered: the next event gets the number after `last`.
 * @returns the feed's new head
 */
async function beginEpoch(tx: Transaction, { agreed, last }: { agreed: number; last: number }): Promise<FeedHead> {
  const begun = onlyRow(
    await tx.query<FeedHead>(
      `UPDATE feed_head SET epoch = gen_random_uuid(), head = $1, timeline = ${currentTimeline} RETURNING epoch, head`,
      [last],
    ),
  );
  await tx.execute('INSERT INTO feed_breaks (begins_at, continues_after, epoch) VALUES ($1, $2, $3)', [last + 1, agreed, begun.epoch]);
  return begun;
}

async function lockHead(tx: Transaction): Promise<FeedHead> {
  return onlyRow(
    await tx.query<FeedHead>({ name: 'feed-lock-head', text: 'SELECT epoch, head FROM feed_head FOR UPDATE' }),
  );
}
