import { onlyRow } from '@plant-shop/platform/postgres/rows';
import type pg from 'pg';
import { epoch } from './webhooks.spec.fixture.js';

type Event = { readonly seq: number; readonly id: string; readonly subject: string; readonly body: string };

/** The statement of the previous release in the transaction that logged events, unchanged. */
const enqueue = `
  WITH wanted AS MATERIALIZED (
    SELECT w.id AS webhook_id, l.seq, l.event_id, l.order_id, false AS of_others, l.body, l.traceparent
    FROM event_log l JOIN webhooks w ON w.owner_id = l.subject
    WHERE l.seq > $1 AND l.seq <= $2 AND (l.body::jsonb ->> 'event') = ANY (w.event_types) AND w.state <> 'deleted'
      AND (w.order_id IS NULL OR w.order_id = l.order_id) AND (w.plant_id IS NULL OR w.plant_id = l.plant_id) AND (NOT l.repeats OR NOT EXISTS (
      SELECT 1 FROM webhook_deliveries d WHERE d.event_id = l.event_id AND d.webhook_id = w.id))
    UNION ALL
    SELECT w.id, l.seq, l.event_id, l.order_id, true, l.body, l.traceparent
    FROM event_log l JOIN webhooks w ON w.sees_all AND w.owner_id <> l.subject
    WHERE l.seq > $1 AND l.seq <= $2 AND (l.body::jsonb ->> 'event') = ANY (w.event_types) AND w.state <> 'deleted'
      AND (w.order_id IS NULL OR w.order_id = l.order_id) AND (w.plant_id IS NULL OR w.plant_id = l.plant_id) AND (NOT l.repeats OR NOT EXISTS (
      SELECT 1 FROM webhook_deliveries d WHERE d.event_id = l.event_id AND d.webhook_id = w.id))
  )
  , lanes AS (
    INSERT INTO webhook_lanes AS lane (webhook_id, order_id)
    SELECT DISTINCT webhook_id, order_id FROM wanted WHERE order_id IS NOT NULL ORDER BY webhook_id, order_id
    ON CONFLICT (webhook_id, order_id) DO UPDATE SET additions = lane.additions + 1
    RETURNING webhook_id, order_id, additions = 1 AS is_new
  ), inserted AS (
    INSERT INTO webhook_deliveries (webhook_id, event_id, seq, order_id, of_others, in_lane, body, traceparent, due_at)
    SELECT webhook_id, event_id, seq, order_id, of_others, order_id IS NOT NULL, body, traceparent,
      CASE WHEN order_id IS NULL OR (
        row_number() OVER (PARTITION BY webhook_id, order_id ORDER BY seq) = 1
        AND (webhook_id, order_id) IN (SELECT webhook_id, order_id FROM lanes WHERE is_new)) THEN now() END
    FROM wanted ORDER BY seq, webhook_id
    RETURNING webhook_id, due_at
  ), turns AS (
    SELECT webhook_id FROM webhook_queues
    WHERE webhook_id = ANY (ARRAY(SELECT DISTINCT webhook_id FROM inserted WHERE due_at IS NOT NULL))
    ORDER BY webhook_id FOR NO KEY UPDATE
  ), moved AS (
    UPDATE webhook_queues SET turn_at = least(turn_at, now()) WHERE webhook_id = ANY (ARRAY(SELECT webhook_id FROM turns))
  )
  SELECT count(*) AS count FROM inserted`;

/** Logs the next events of the feed, at most `limit`, like the previous release. Returns their number. */
export function logAsPreviousRelease(sql: pg.Pool, feed: readonly Event[], limit: number): Promise<number> {
  return inTransaction(sql, feed, limit, async (client, after, upTo) => {
    await client.query('UPDATE feed_watermark SET watermark = $1, epoch = $2', [upTo, epoch]);
    await client.query(enqueue, [after, upTo]);
  });
}

/** Logs the next events of the feed like a current replica that crashes before it enqueues deliveries. Returns their number. */
export function logAndCrash(sql: pg.Pool, feed: readonly Event[], limit = Infinity): Promise<number> {
  return inTransaction(sql, feed, limit, async (client, _after, upTo) => {
    await client.query(`SELECT set_config('notifications.deliveries', 'follow', true)`);
    await client.query('UPDATE feed_watermark SET watermark = $1, epoch = $2', [upTo, epoch]);
  });
}

async function inTransaction(
  sql: pg.Pool,
  feed: readonly Event[],
  limit: number,
  move: (client: pg.PoolClient, after: number, upTo: number) => Promise<void>,
): Promise<number> {
  const client = await sql.connect();
  try {
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM feed_watermark FOR UPDATE');
    const { rows } = await client.query<{ watermark: number }>('SELECT watermark FROM feed_watermark');
    const after = onlyRow(rows).watermark;
    const events = feed.slice(after, after + limit);
    await client.query(
      `INSERT INTO event_log (seq, event_id, subject, body, repeats)
       SELECT t.seq, t.id, t.subject, t.body, EXISTS (SELECT 1 FROM event_log l WHERE l.event_id = t.id AND l.seq < t.seq)
       FROM unnest($1::bigint[], $2::uuid[], $3::uuid[], $4::text[]) AS t (seq, id, subject, body)`,
      [events.map((one) => one.seq), events.map((one) => one.id), events.map((one) => one.subject), events.map((one) => one.body)],
    );
    if (events.length > 0) await move(client, after, after + events.length);
    await client.query('COMMIT');
    return events.length;
  } finally {
    client.release();
  }
}
