import type { Database } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import type { QueueLimits } from '../../options.js';

/** The pending work of all replicas together. */
export interface Backlog {
  readonly pending: number;
  readonly held: number;
  /** Deliveries that more replicas would send now: due, unclaimed, and within the limits of their endpoints. */
  readonly waiting: number;
  readonly oldestSeconds: number;
  readonly pausedEndpoints: number;
  readonly ownBehindSeconds: number;
  readonly allBehindSeconds: number;
  readonly allBehindEvents: number;
}

export const noBacklog: Backlog = {
  pending: 0,
  held: 0,
  waiting: 0,
  oldestSeconds: 0,
  pausedEndpoints: 0,
  ownBehindSeconds: 0,
  allBehindSeconds: 0,
  allBehindEvents: 0,
};

/** SQL: seconds since the first event after this number was logged; 0 if there is none. */
const ageAfter = (seq: string): string => `coalesce(extract(epoch FROM now() - (
      SELECT l.logged_at FROM event_log l, feed_watermark f WHERE l.seq > ${seq} AND l.seq <= f.watermark ORDER BY l.seq LIMIT 1)), 0)::float8`;

// due_at of a claimed delivery is the end of its lease. Retries are due later; successors in a lane have no due time yet.
const backlogSql = `
  SELECT coalesce(sum(b.count) FILTER (WHERE w.state = 'enabled'), 0)::bigint AS pending,
    coalesce(sum(b.count) FILTER (WHERE w.state = 'disabled'), 0)::bigint AS held,
    coalesce(sum(least(b.due, greatest(0, CASE WHEN q.silent_attempts < $2 THEN $1::bigint ELSE 1 END - b.claimed)))
      FILTER (WHERE w.state = 'enabled' AND q.paused_until <= now()), 0)::bigint AS waiting,
    coalesce(extract(epoch FROM now() - min(b.oldest) FILTER (WHERE w.state = 'enabled')), 0)::float8 AS "oldestSeconds",
    (SELECT count(*) FROM webhook_queues q JOIN webhooks e ON e.id = q.webhook_id
     WHERE e.state = 'enabled' AND q.paused_until > now()) AS "pausedEndpoints",
    ${ageAfter('(SELECT watermark FROM webhook_watermark)')} AS "ownBehindSeconds",
    ${ageAfter("(SELECT min(c.watermark) FROM webhook_cursors c JOIN webhooks e ON e.id = c.webhook_id WHERE e.state = 'enabled')")} AS "allBehindSeconds",
    (SELECT coalesce(sum(f.watermark - c.watermark), 0)::bigint FROM feed_watermark f, webhook_cursors c
     JOIN webhooks e ON e.id = c.webhook_id WHERE e.state = 'enabled') AS "allBehindEvents"
  FROM (
    SELECT webhook_id, count(*), min(created_at) AS oldest, count(*) FILTER (WHERE due_at <= now()) AS due,
      count(*) FILTER (WHERE lease IS NOT NULL AND due_at > now()) AS claimed
    FROM webhook_deliveries WHERE ended_at IS NULL GROUP BY 1
  ) b JOIN webhooks w ON w.id = b.webhook_id JOIN webhook_queues q ON q.webhook_id = b.webhook_id`;

export async function readBacklog(db: Pick<Database, 'query'>, { inFlight, silentAttempts }: QueueLimits): Promise<Backlog> {
  return onlyRow(await db.query<Backlog>(backlogSql, [inFlight, silentAttempts]));
}
