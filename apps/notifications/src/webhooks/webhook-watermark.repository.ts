import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';

// How far webhooks have come in the log: the deliveries of events up to their watermark are made.

/** Events (after, upTo] of the log. */
export interface LogStretch {
  readonly after: number;
  readonly upTo: number;
  /** Up to where the log was whole. */
  readonly head: number;
}

/** Events of one step. */
const batch = 1_000;

const lockStretch: Statement = {
  name: 'webhooks-lock-watermark',
  text: `
    SELECT m.watermark AS after, f.watermark AS head, coalesce(
      (SELECT seq FROM event_log l WHERE l.seq > m.watermark AND l.seq <= f.watermark ORDER BY seq OFFSET ${batch - 1} LIMIT 1),
      f.watermark) AS "upTo"
    FROM webhook_watermark m, feed_watermark f WHERE m.watermark < f.watermark FOR UPDATE OF m`,
};

/**
 * What follows on the watermark, which nobody else moves until the transaction ends. Who waited for another one gets what
 * that one left; undefined when it left nothing. The log's own watermark is read and not locked: logging waits for nobody here.
 */
export async function lockWebhookWatermark(tx: Transaction): Promise<LogStretch | undefined> {
  return (await tx.query<LogStretch>(lockStretch))[0];
}

export function setWebhookWatermark(tx: Transaction, { upTo }: LogStretch): void {
  tx.send({ name: 'webhooks-set-watermark', text: 'UPDATE webhook_watermark SET watermark = $1' }, [upTo]);
}

export async function findWebhookWatermark(tx: Transaction): Promise<number> {
  return onlyRow(await tx.query<{ watermark: number }>('SELECT watermark FROM webhook_watermark')).watermark;
}

/** What the events of a stretch were caused by, as far as that was traced. */
export async function findCauses(tx: Transaction, { after, upTo }: LogStretch): Promise<(string | null)[]> {
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
