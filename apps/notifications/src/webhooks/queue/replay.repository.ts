import type { Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { isSubscribed, enqueueWanted } from './deliveries.repository.js';

export interface ReplayWindow {
  readonly webhookId: string;
  /** The range of events is (after, upTo]. */
  readonly after: number;
  readonly upTo: number;
  readonly since: string | null;
  readonly until: string | null;
  readonly limit: number;
}

export interface ReplayCount {
  readonly scheduled: number;
  /** The number of the last scheduled event; 0 for none. */
  readonly last: number;
}

const happened = (event: string): string => `(${event}.body::jsonb ->> 'timestamp')::timestamptz`;
const inTime = (event: string): string => `($4::timestamptz IS NULL OR ${happened(event)} >= $4)
  AND ($5::timestamptz IS NULL OR ${happened(event)} < $5)`;

const counted = 'SELECT count(*) AS scheduled, coalesce((SELECT max(seq) FROM wanted), 0) AS last FROM inserted';

/** Events of the log that the endpoint subscribes to and may see now. A repeated event is sent once, with its first number. */
const logged = `
  WITH wanted AS MATERIALIZED (
    SELECT w.id AS webhook_id, l.seq, l.event_id, l.order_id, l.subject <> w.owner_id AS of_others, l.body, l.traceparent,
      now() AS created_at
    FROM webhooks w JOIN event_log l ON l.seq > $2 AND l.seq <= $3
    WHERE w.id = $1 AND (l.subject = w.owner_id OR w.sees_all) AND ${isSubscribed} AND NOT l.repeats AND ${inTime('l')}
    ORDER BY l.seq LIMIT $6
  ) ${enqueueWanted} ${counted}`;

/** Events whose deliveries to this endpoint failed, without another delivery that succeeded or is pending. */
const failed = `
  WITH wanted AS MATERIALIZED (
    SELECT DISTINCT ON (d.seq) d.webhook_id, d.seq, d.event_id, d.order_id, d.of_others, d.body, d.traceparent,
      now() AS created_at
    FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id
    WHERE d.webhook_id = $1 AND d.state = 'failed' AND d.seq > $2 AND d.seq <= $3 AND (w.sees_all OR NOT d.of_others)
      AND ${inTime('d')} AND NOT EXISTS (
        SELECT 1 FROM webhook_deliveries o
        WHERE o.event_id = d.event_id AND o.webhook_id = d.webhook_id AND o.state <> 'failed')
    ORDER BY d.seq LIMIT $6
  ) ${enqueueWanted} ${counted}`;

export const replayLogged = (tx: Transaction, range: ReplayWindow): Promise<ReplayCount> => run(tx, logged, range);
export const replayFailed = (tx: Transaction, range: ReplayWindow): Promise<ReplayCount> => run(tx, failed, range);

async function run(tx: Transaction, text: string, range: ReplayWindow): Promise<ReplayCount> {
  const { webhookId, after, upTo, since, until, limit } = range;
  return onlyRow(await tx.query<ReplayCount>(text, [webhookId, after, upTo, since, until, limit]));
}

/**
 * Returns the number of the first event that was logged at this time or later. Binary search: numbers and times ascend together, so
 * the log needs no index on its times.
 */
export async function findLoggedSince(tx: Transaction, time: Date, oldest: number, head: number): Promise<number> {
  let [low, high] = [oldest, head + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [event] = await tx.query<{ at: Date }>('SELECT logged_at AS at FROM event_log WHERE seq >= $1 ORDER BY seq LIMIT 1', [middle]);
    if (event && event.at < time) low = middle + 1;
    else high = middle;
  }
  return low;
}
