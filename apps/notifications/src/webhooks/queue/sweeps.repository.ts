import type { Transaction } from '@plant-shop/platform/postgres/database';
import { queueNow } from './queue-clock.js';
import { advanceLanes, bringForward, type ClaimedDelivery, holdLanes, lanesOf } from './queue.repository.js';

type Pending = Pick<ClaimedDelivery, 'id' | 'webhookId' | 'orderId' | 'inLane'>;

const columns = `d.id, d.webhook_id AS "webhookId", d.order_id AS "orderId", d.in_lane AS "inLane"`;

/** SQL: no worker holds the delivery. The lease of a crashed worker stays in the row after it has ended. */
const isFree = `(d.lease IS NULL OR d.due_at <= ${queueNow})`;

/** Returns deliveries of disabled endpoints that have been held for `holdMs`. */
export function findHeldTooLong(tx: Transaction, holdMs: number, limit: number): Promise<Pending[]> {
  return tx.query<Pending>(
    `SELECT ${columns} FROM webhooks w JOIN webhook_deliveries d ON d.webhook_id = w.id AND d.ended_at IS NULL
     WHERE w.state = 'disabled' AND ${isFree}
       AND greatest(d.created_at, w.state_since) <= now() - $1 * interval '1 millisecond' LIMIT $2`,
    [holdMs, limit],
  );
}

/** Returns deliveries of other users' orders to endpoints that may no longer see them. */
export function findNoLongerVisible(tx: Transaction, limit: number): Promise<Pending[]> {
  return tx.query<Pending>(
    `SELECT ${columns} FROM webhooks w JOIN webhook_deliveries d ON d.webhook_id = w.id AND d.ended_at IS NULL
     WHERE w.made_for_all AND NOT w.sees_all AND d.of_others AND ${isFree} LIMIT $1`,
    [limit],
  );
}

/** Fails deliveries without another attempt, and makes their successors due. Returns the length of `found`. */
export async function endDeliveries(tx: Transaction, found: readonly Pending[], error: string): Promise<number> {
  if (found.length === 0) return 0;
  const lanes = lanesOf(found);
  holdLanes(tx, lanes);
  const attempt = JSON.stringify({ at: new Date().toISOString(), durationMs: 0, error });
  await tx.execute(
    `UPDATE webhook_deliveries d SET state = 'failed', due_at = NULL, lease = NULL, ended_at = now(), attempts = attempts || $2::jsonb, response = NULL
     WHERE id = ANY($1) AND ended_at IS NULL AND ${isFree}`,
    [found.map((one) => one.id), attempt],
  );
  advanceLanes(tx, lanes);
  await bringForward(tx, [...new Set(found.map((one) => one.webhookId))]);
  return found.length;
}

export function deleteEnded(tx: Transaction, keepMs: number, limit: number): Promise<number> {
  return tx.execute(
    `DELETE FROM webhook_deliveries WHERE id IN (
       SELECT id FROM webhook_deliveries WHERE ended_at <= now() - $1 * interval '1 millisecond'
       ORDER BY ended_at LIMIT $2 FOR UPDATE SKIP LOCKED)`,
    [keepMs, limit],
  );
}

/** Deletes deliveries, lanes and at last the rows of deleted endpoints: a minute later, when transactions that still saw them have ended. */
export async function deleteRemains(tx: Transaction, limit: number): Promise<number> {
  const deliveries = await tx.execute(
    `DELETE FROM webhook_deliveries WHERE id IN (
       SELECT d.id FROM webhooks w JOIN webhook_deliveries d ON d.webhook_id = w.id WHERE w.state = 'deleted' LIMIT $1)`,
    [limit],
  );
  const lanes = await tx.execute(
    `DELETE FROM webhook_lanes WHERE (webhook_id, order_id) IN (
       SELECT l.webhook_id, l.order_id FROM webhooks w JOIN webhook_lanes l ON l.webhook_id = w.id
       WHERE w.state = 'deleted' ORDER BY 1, 2 LIMIT $1)`,
    [limit],
  );
  if (deliveries === limit || lanes === limit) return limit;
  return tx.execute(
    `DELETE FROM webhooks WHERE id IN (
       SELECT id FROM webhooks w WHERE state = 'deleted' AND state_since < now() - interval '1 minute'
         AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.webhook_id = w.id)
       LIMIT $1)`,
    [limit],
  );
}

/** Deletes all deliveries and mails about orders, and ends all pauses. A worker that sends one finds its lease gone. */
export async function emptyQueues(tx: Transaction): Promise<void> {
  await tx.execute('LOCK TABLE webhook_queues, webhook_lanes, webhook_deliveries IN EXCLUSIVE MODE');
  await tx.execute('DELETE FROM webhook_deliveries');
  await tx.execute('DELETE FROM webhook_lanes');
  await tx.execute('DELETE FROM mails WHERE order_id IS NOT NULL');
  await tx.execute(
    `UPDATE webhook_queues SET turn_at = DEFAULT, silent_attempts = DEFAULT, paused_until = DEFAULT, failing_since = DEFAULT, last_error = DEFAULT,
       replayed_from = DEFAULT, replayed_to = DEFAULT`,
  );
}
