import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';

// How far the endpoints that see their owner's orders have come in the log. Those of all orders have cursors.

/** Events (after, upTo] of the log. */
export interface LogRange {
  readonly after: number;
  readonly upTo: number;
}

/** The next range of the log, of which a part may have its deliveries. */
export interface OwnRange extends LogRange {
  /** The last delivery that is made: of this event, to this endpoint. Null: none of the range is. */
  readonly partSeq: number | null;
  readonly partWebhookId: string | null;
}

const lockRange: Statement = {
  name: 'webhooks-lock-watermark',
  text: `
    SELECT m.watermark AS after, m.part_seq AS "partSeq", m.part_webhook_id AS "partWebhookId", least(f.watermark, $1::bigint - 1 +
      coalesce((SELECT seq FROM event_log l WHERE l.seq > m.watermark AND l.seq <= f.watermark ORDER BY seq LIMIT 1), f.watermark)) AS "upTo"
    FROM webhook_watermark m, feed_watermark f WHERE m.watermark < f.watermark FOR UPDATE OF m`,
};

/**
 * At most so many numbers from the next event on, which nobody else moves until the transaction ends. Who waited for
 * another one gets what that one left; undefined when it left nothing. The log's own watermark is read and not locked:
 * logging waits for nobody here.
 */
export async function lockWebhookWatermark(tx: Transaction, events: number): Promise<OwnRange | undefined> {
  return (await tx.query<OwnRange>(lockRange, [events]))[0];
}

/** Up to where the deliveries to this endpoint are made. */
export async function findMadeUpTo(tx: Transaction, webhookId: string): Promise<number> {
  const text = `SELECT coalesce((SELECT watermark FROM webhook_cursors WHERE webhook_id = $1),
    (SELECT watermark FROM webhook_watermark)) AS watermark`;
  return onlyRow(await tx.query<{ watermark: number }>(text, [webhookId])).watermark;
}

/**
 * Up to where the deliveries to all endpoints are made. Undefined: there is no endpoint, and where no replica has the role `webhooks` nobody
 * moves the watermark then.
 */
export async function findMadeForAllUpTo(tx: Transaction): Promise<number | undefined> {
  const text = `SELECT CASE WHEN EXISTS (SELECT 1 FROM webhooks WHERE state <> 'deleted') THEN least((SELECT watermark FROM webhook_watermark), (
    SELECT min(c.watermark) FROM webhook_cursors c JOIN webhooks w ON w.id = c.webhook_id WHERE w.state <> 'deleted')) END AS watermark`;
  return onlyRow(await tx.query<{ watermark: number | null }>(text)).watermark ?? undefined;
}

/** What the events of a range were caused by, as far as that was traced. */
export async function findCauses(tx: Transaction, { after, upTo }: LogRange): Promise<(string | null)[]> {
  const rows = await tx.query<{ traceparent: string | null }>(
    'SELECT DISTINCT traceparent FROM event_log WHERE seq > $1 AND seq <= $2',
    [after, upTo],
  );
  return rows.map((row) => row.traceparent);
}

/**
 * In a transaction that logs events: their deliveries come later, by the watermark. Whoever does not say so is of the
 * release before, and makes them in that transaction (the trigger of migration 1764000000030).
 */
export function letWebhooksFollow(tx: Transaction): void {
  tx.send({ name: 'webhooks-follow', text: `SELECT set_config('notifications.deliveries', 'follow', true)` });
}
