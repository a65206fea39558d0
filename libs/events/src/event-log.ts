import type { Database, Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import type { FeedEvent } from './event.js';

// SQL of a follower's own tables (README): event_log, feed_watermark, event_gaps.

/** Up to where the log is whole. */
export interface Watermark {
  readonly seq: number;
  /** That event's; null at the beginning, and where the log ends with a gap. */
  readonly id: string | null;
  readonly epoch: string | null;
}

type Reader = Pick<Database | Transaction, 'query'>;

/** Not joined: of a table of one row that was never analysed, Postgres thinks that it has 1,540, and reads the whole log for them. */
const watermark: Statement = {
  name: 'find-watermark',
  text: 'SELECT w.watermark AS seq, w.epoch, (SELECT l.event_id FROM event_log l WHERE l.seq = w.watermark) AS id FROM feed_watermark w',
};

export async function findWatermark(db: Reader): Promise<Watermark> {
  return onlyRow(await db.query<Watermark>(watermark));
}

/** What is beyond the watermark was never handed on, whoever logged it: it gives way. */
const insertEvents: Statement = {
  name: 'log-events',
  text: `
    WITH given AS MATERIALIZED (
      SELECT *, EXISTS (SELECT 1 FROM event_log l WHERE l.event_id = t.id AND l.seq < t.seq) AS repeats
      FROM unnest($1::bigint[], $2::uuid[], $3::uuid[], $4::text[], $5::text[]) AS t (seq, id, subject, body, traceparent)
    ), logged AS (
      INSERT INTO event_log (seq, event_id, subject, body, traceparent, repeats)
      SELECT seq, id, subject, body, traceparent, repeats FROM given
      ON CONFLICT (seq) DO UPDATE
      SET event_id = excluded.event_id, subject = excluded.subject, body = excluded.body, traceparent = excluded.traceparent,
        repeats = excluded.repeats
    )
    SELECT seq FROM given WHERE repeats`,
};

/** Logs events that follow on the locked watermark. @returns what says after the commit which of them are repetitions */
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

/** Numbers under which the log has another event. */
export async function findConflictingSeqs(tx: Transaction, events: readonly FeedEvent[]): Promise<number[]> {
  if (events.length === 0) return [];
  const rows = await tx.query<{ seq: number }>(findOtherIds, [events.map((one) => one.seq), events.map((one) => one.id)]);
  return rows.map((row) => row.seq);
}

export async function lockWatermark(tx: Transaction): Promise<Watermark> {
  tx.send({ name: 'lock-watermark', text: 'SELECT 1 FROM feed_watermark FOR UPDATE' });
  // A new statement: what the one before waited for must be seen.
  return findWatermark(tx);
}

export function setWatermark(tx: Transaction, seq: number, epoch: string): void {
  tx.send({ name: 'set-watermark', text: 'UPDATE feed_watermark SET watermark = $1, epoch = $2' }, [seq, epoch]);
}

/** Numbers between two places that no event will ever have again. */
export function recordGap(tx: Transaction, afterSeq: number, resumesAt: number, epoch: string): void {
  tx.send(
    'INSERT INTO event_gaps (after_seq, resumes_at, epoch) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
    [afterSeq, resumesAt, epoch],
  );
}

/** Ids by number, of a stretch of the log. */
export async function idsBetween(db: Reader, after: number, upTo: number): Promise<Map<number, string>> {
  const rows = await db.query<{ seq: number; id: string }>(
    'SELECT seq, event_id AS id FROM event_log WHERE seq > $1 AND seq <= $2',
    [after, upTo],
  );
  return new Map(rows.map((row) => [row.seq, row.id]));
}
