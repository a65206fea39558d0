import type pg from 'pg';

interface Event {
  readonly seq: number;
  readonly id: string;
  readonly subject: string;
  readonly body: string;
}

/**
 * Writes events into the log without a replica: like one that crashes after the commit, before it announces them or enqueues deliveries.
 * @param options upTo: the new watermark, by default the last event's number; null: it stays. ageMs: time since the events were logged
 */
export async function logAndCrash(
  sql: pg.Pool,
  epoch: string,
  events: readonly Event[],
  { upTo = events.at(-1)?.seq ?? null, ageMs = 0 }: { readonly upTo?: number | null; readonly ageMs?: number } = {},
): Promise<void> {
  const client = await sql.connect();
  try {
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM feed_watermark FOR UPDATE');
    await client.query(
      `INSERT INTO event_log (seq, event_id, subject, body, repeats, logged_at, event_type, order_id, plant_id, new_status)
       SELECT t.seq, id, subject, body, row_number() OVER (PARTITION BY id ORDER BY t.seq) > 1 OR EXISTS (SELECT 1 FROM event_log l WHERE l.event_id = t.id AND l.seq < t.seq), now() - $5 * interval '1 ms',
         event ->> 'event', (event #>> '{data,orderId}')::bigint, (event #>> '{data,plantId}')::bigint, event #>> '{data,newStatus}'
       FROM unnest($1::bigint[], $2::uuid[], $3::uuid[], $4::text[]) AS t (seq, id, subject, body), LATERAL (SELECT body::jsonb AS event) AS parsed
       ON CONFLICT DO NOTHING`,
      [events.map(({ seq }) => seq), events.map(({ id }) => id), events.map(({ subject }) => subject), events.map(({ body }) => body), ageMs],
    );
    await client.query('UPDATE feed_watermark SET watermark = coalesce($1, watermark), epoch = $2', [upTo, epoch]);
    await client.query('INSERT INTO log_epochs VALUES ($1, 0) ON CONFLICT DO NOTHING', [epoch]);
    await client.query('COMMIT');
  } finally {
    client.release();
  }
}
