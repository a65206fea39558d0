import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';

// Cursors: the last event whose deliveries to an endpoint of all orders are enqueued.

/** How far the deliveries to one endpoint of all orders are enqueued. Not a cursor of a stream client. */
export interface EndpointProgress {
  readonly webhookId: string;
  /** Deliveries of events up to this number are enqueued. */
  readonly after: number;
  /** The watermark of the log. */
  readonly head: number;
  /** Total number of endpoints of all orders. */
  readonly endpoints: number;
}

const lockBehind: Statement = {
  name: 'webhooks-lock-cursors',
  text: `
    SELECT c.webhook_id AS "webhookId", c.watermark AS after, f.watermark AS head, (SELECT count(*) FROM webhook_cursors) AS endpoints
    FROM webhook_cursors c JOIN webhooks w ON w.id = c.webhook_id, feed_watermark f
    WHERE c.look_at <= now() AND c.watermark < f.watermark AND w.state <> 'deleted'
    ORDER BY c.look_at, c.webhook_id LIMIT $1 FOR UPDATE OF c SKIP LOCKED`,
};

/** Locks cursors that are behind the log, those that have waited longest first. Other replicas skip them until the transaction ends. */
export function lockCursors(tx: Transaction, limit: number): Promise<EndpointProgress[]> {
  return tx.query<EndpointProgress>(lockBehind, [limit]);
}

const nextLook: Statement = {
  name: 'webhooks-next-look',
  text: `
    SELECT extract(epoch FROM min(c.look_at) - now())::float8 * 1000 AS "inMs"
    FROM webhook_cursors c JOIN webhooks w ON w.id = c.webhook_id, feed_watermark f
    WHERE c.watermark < f.watermark AND w.state <> 'deleted'`,
};

/** Returns a function that gives, after the commit, the milliseconds until the next cursor is due; null if none is behind. */
export function findNextLook(tx: Transaction): () => number | null {
  const rows = tx.later<{ inMs: number | null }>(nextLook);
  return () => onlyRow(rows()).inMs;
}

const firstPauseMs = 50;
const longestPauseMs = 5_000;

/** SQL: the next pause of cursor `c`, twice the last one within bounds. */
export const longerPause = `least(${longestPauseMs}, greatest(${firstPauseMs}, 2 * c.pause_ms))`;

/** Ends the pause of an endpoint's cursor, if it is an endpoint of all orders. */
export async function lookNow(tx: Transaction, webhookId: string): Promise<void> {
  await tx.execute('UPDATE webhook_cursors SET look_at = now(), pause_ms = 0 WHERE webhook_id = $1', [webhookId]);
}

/** Postpones endpoints after a failed step, so that others go first. An endpoint that failed alone pauses for 1 s, then twice as long each time, up to 60 s. */
export async function postpone(tx: Transaction, webhookIds: readonly string[]): Promise<void> {
  await tx.execute(
    `UPDATE webhook_cursors c SET look_at = now() + p.pause_ms * interval '1 millisecond', pause_ms = p.pause_ms
     FROM (
       SELECT webhook_id, CASE WHEN $2 THEN least(60000, greatest(1000, 2 * pause_ms)) ELSE 0 END AS pause_ms
       FROM webhook_cursors WHERE webhook_id = ANY($1) FOR UPDATE SKIP LOCKED
     ) AS p WHERE c.webhook_id = p.webhook_id`,
    [webhookIds, webhookIds.length === 1],
  );
}
