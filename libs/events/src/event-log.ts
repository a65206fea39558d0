import type { Database, Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { type Column, RowsParameter } from '@plant-shop/platform/postgres/rows';
import type { FeedEvent } from './feed.js';

// SQL on a follower's own tables (README): event_log, feed_watermark, log_epochs, event_gaps.

/** The number up to which the log is complete. */
export interface Watermark {
  readonly seq: number;
  /** Id of that event; null at the beginning, and when the log ends with a gap. */
  readonly id: string | null;
  readonly epoch: string | null;
  /** The highest id of the log's events; null if it has none. */
  readonly newestId: string | null;
}

type Reader = Pick<Database | Transaction, 'query'>;

/** Not a join: Postgres estimates 1,540 rows for a one-row table that was never analysed, and would read the whole log. */
const watermark: Statement = {
  name: 'find-watermark',
  text: `SELECT w.watermark AS seq, w.epoch, (SELECT l.event_id FROM event_log l WHERE l.seq = w.watermark) AS id,
           (SELECT event_id FROM event_log ORDER BY event_id DESC LIMIT 1) AS "newestId" FROM feed_watermark w`,
};

export async function findWatermark(db: Reader): Promise<Watermark> {
  return onlyRow(await db.query<Watermark>(watermark));
}

/** A column of the log that the follower's service adds: its type, and its value in an event's parsed body. */
export type BodyColumn<Body> = Column<Body>;

const eventColumns: readonly Column<FeedEvent>[] = [
  ['seq', 'bigint', ({ seq }) => seq],
  ['event_id', 'uuid', ({ id }) => id],
  ['subject', 'uuid', ({ subject }) => subject],
  ['body', 'line', ({ body }) => body],
  ['traceparent', 'text', ({ traceparent }) => traceparent],
];

/**
 * Removes rows beyond the watermark. One transaction logs and moves it, so there are none, unless somebody inserted them by hand: they were never
 * delivered, and must not stop the log. `ON CONFLICT` would look each event up.
 */
const removeBeyond: Statement = { name: 'remove-beyond-watermark', text: 'DELETE FROM event_log WHERE seq >= $1' };

type LogRow<Body> = FeedEvent & { readonly parsed: Body | undefined };

const findRepeated: Statement = {
  name: 'find-repeated-events',
  text: 'SELECT seq FROM unnest($1::bigint[], $2::uuid[]) AS t (seq, id) WHERE EXISTS (SELECT 1 FROM event_log l WHERE l.event_id = t.id AND l.seq < t.seq)',
};

/** Writes events to the log, with the columns that the service adds. */
export class LogWriter<Body> {
  private readonly rows: RowsParameter<LogRow<Body>>;
  private readonly insert: Statement;
  private readonly hasOwnColumns: boolean;

  constructor(columns: readonly BodyColumn<Body>[]) {
    this.hasOwnColumns = columns.length > 0;
    const ownColumns = columns.map(([name, type, of]): Column<LogRow<Body>> => [name, type, ({ parsed }) => parsed && of(parsed)]);
    this.rows = new RowsParameter<LogRow<Body>>(...eventColumns, ...ownColumns);
    this.insert = { name: 'log-events', text: `INSERT INTO event_log (${this.rows.names}, repeats) SELECT ${this.rows.names}, seq = ANY($1::bigint[]) FROM ${this.rows.from(2)}` };
  }

  /** Logs events that follow the locked watermark. @returns the numbers of those that the log has under an earlier number, too */
  async write(tx: Transaction, events: readonly FeedEvent[], { newestId }: Watermark): Promise<ReadonlySet<number>> {
    if (events.length === 0) return new Set();
    tx.send(removeBeyond, [events[0]?.seq]);
    // Ids grow with time (UUIDv7), which spares nearly all events the look-up.
    const older = events.filter(({ id }) => newestId !== null && id <= newestId);
    const found = older.length === 0 ? [] : await tx.query<{ seq: number }>(findRepeated, [older.map((one) => one.seq), older.map((one) => one.id)]);
    const repeated = new Set(found.map((one) => one.seq));
    const rows = events.map((event) => ({ ...event, parsed: this.hasOwnColumns ? (JSON.parse(event.body) as Body) : undefined }));
    tx.send(this.insert, [[...repeated], ...this.rows.values(rows)]);
    return repeated;
  }
}

const findOtherIds: Statement = {
  name: 'find-other-events-with-number',
  text: `
    SELECT l.seq FROM event_log l JOIN unnest($1::bigint[], $2::uuid[]) AS t (seq, id) USING (seq)
    WHERE l.event_id <> t.id ORDER BY l.seq`,
};

/** Returns the numbers under which the log has another event. */
export async function findConflictingSeqs(tx: Transaction, events: readonly FeedEvent[]): Promise<number[]> {
  if (events.length === 0) return [];
  const rows = await tx.query<{ seq: number }>(findOtherIds, [events.map((one) => one.seq), events.map((one) => one.id)]);
  return rows.map((row) => row.seq);
}

export async function lockWatermark(tx: Transaction): Promise<Watermark> {
  tx.send({ name: 'lock-watermark', text: 'SELECT 1 FROM feed_watermark FOR UPDATE' });
  // A second statement, so that it sees what was committed while the first waited for the lock.
  return findWatermark(tx);
}

/** Advances the locked watermark. Records an epoch that the log begins to follow, and the last number before it. */
export function setWatermark(tx: Transaction, before: Watermark, seq: number, epoch: string): void {
  tx.send({ name: 'set-watermark', text: 'UPDATE feed_watermark SET watermark = $1, epoch = $2' }, [seq, epoch]);
  if (epoch !== before.epoch) {
    tx.send('INSERT INTO log_epochs (epoch, after_seq) VALUES ($1, $2) ON CONFLICT DO NOTHING', [epoch, before.seq]);
  }
}

/** Records that the log has no events between two numbers, and never will; with `nothingLost` because none had them. */
export function recordGap(
  tx: Transaction,
  { afterSeq, resumesAt, epoch, nothingLost }: { readonly afterSeq: number; readonly resumesAt: number; readonly epoch: string; readonly nothingLost: boolean },
): void {
  tx.send(
    'INSERT INTO event_gaps (after_seq, resumes_at, epoch, nothing_lost) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING',
    [afterSeq, resumesAt, epoch, nothingLost],
  );
}

/** Returns the ids of the log's events in (after, upTo], by number. */
export async function idsBetween(db: Reader, after: number, upTo: number): Promise<Map<number, string>> {
  const rows = await db.query<{ seq: number; id: string }>(
    'SELECT seq, event_id AS id FROM event_log WHERE seq > $1 AND seq <= $2',
    [after, upTo],
  );
  return new Map(rows.map((row) => [row.seq, row.id]));
}
