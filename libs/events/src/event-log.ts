import type { Database, Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import type { FeedEvent } from './event.js';

// SQL on a follower's own tables (README): event_log, feed_watermark, event_gaps.

/** The number up to which the log is complete. */
export interface Watermark {
  readonly seq: number;
  /** Id of that event; null at the beginning, and when the log ends with a gap. */
  readonly id: string | null;
  readonly epoch: string | null;
}

type Reader = Pick<Database | Transaction, 'query'>;

/** Not a join: Postgres estimates 1,540 rows for a one-row table that was never analysed, and would read the whole log. */
const watermark: Statement = {
  name: 'find-watermark',
  text: 'SELECT w.watermark AS seq, w.epoch, (SELECT l.event_id FROM event_log l WHERE l.seq = w.watermark) AS id FROM feed_watermark w',
};

export async function findWatermark(db: Reader): Promise<Watermark> {
  return onlyRow(await db.query<Watermark>(watermark));
}

/** Overwrites rows beyond the watermark: they were never delivered, whichever replica logged them. */
const insertEvents: Statement = {
  name: 'log-events',
  text: `
    WITH input AS MATERIALIZED (
      SELECT *, EXISTS (SELECT 1 FROM event_log l WHERE l.event_id = t.id AND l.seq < t.seq) AS repeats
      FROM unnest($1::bigint[], $2::uuid[], $3::uuid[], $4::text[], $5::text[]) AS t (seq, id, subject, body, traceparent)
    ), logged AS (
      INSERT INTO event_log (seq, event_id, subject, body, traceparent, repeats)
      SELECT seq, id, subject, body, traceparent, repeats FROM input
      ON CONFLICT (seq) DO UPDATE
      SET event_id = excluded.event_id, subject = excluded.subject, body = excluded.body, traceparent = excluded.traceparent,
        repeats = excluded.repeats
    )
    SELECT seq FROM input WHERE repeats`,
};

/** Logs events that follow the locked watermark. @returns a function that returns, after the commit, which of them are repetitions */
export function logEvents(tx: Transaction, events: readonly FeedEvent[]): () => readonly { readonly seq: number }[] {
  if (events.length === 0) return () => [];
  return tx.later(insertEvents, [
    events.map((one) => one.seq),
    events.map((one) => one.id),
    events.map((one) => one.subject),
    events.map((one) => one.body),
    events.map((one) => one.traceparent ?? null),
  ]);
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

export function setWatermark(tx: Transaction, seq: number, epoch: string): void {
  tx.send({ name: 'set-watermark', text: 'UPDATE feed_watermark SET watermark = $1, epoch = $2' }, [seq, epoch]);
}

/** Records that the log has no events between two numbers, and never will. */
export function recordGap(tx: Transaction, afterSeq: number, resumesAt: number, epoch: string): void {
  tx.send(
    'INSERT INTO event_gaps (after_seq, resumes_at, epoch) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
    [afterSeq, resumesAt, epoch],
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
