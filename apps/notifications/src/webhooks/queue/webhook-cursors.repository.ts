import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';

// How far each endpoint of all orders has come in the log.

export interface WebhookCursor {
  readonly webhookId: string;
  /** Its deliveries of events up to this number are made. */
  readonly after: number;
  /** Up to where the log was whole. */
  readonly head: number;
  /** How many endpoints of all orders there are. */
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

/** Cursors that are behind the log, those that have waited longest first. Other replicas pass over them until the transaction ends. */
export function lockCursors(tx: Transaction, limit: number): Promise<WebhookCursor[]> {
  return tx.query<WebhookCursor>(lockBehind, [limit]);
}

const nextLook: Statement = {
  name: 'webhooks-next-look',
  text: `
    SELECT extract(epoch FROM min(c.look_at) - now())::float8 * 1000 AS "inMs"
    FROM webhook_cursors c JOIN webhooks w ON w.id = c.webhook_id, feed_watermark f
    WHERE c.watermark < f.watermark AND w.state <> 'deleted'`,
};

/** @returns what gives, after the commit, the milliseconds until a cursor that is behind is to be looked at; null: none is behind */
export function findNextLook(tx: Transaction): () => number | null {
  const rows = tx.later<{ inMs: number | null }>(nextLook);
  return () => onlyRow(rows()).inMs;
}

const firstPauseMs = 50;
const longestPauseMs = 5_000;

/** The pause after this one of a cursor `c`. */
export const longerPause = `least(${longestPauseMs}, greatest(${firstPauseMs}, 2 * c.pause_ms))`;

/** After a step that failed: other endpoints go first. One that failed alone is left alone for a second, then twice as long each time. */
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
