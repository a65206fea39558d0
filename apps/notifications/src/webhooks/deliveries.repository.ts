import type { DeliveryState } from '@plant-shop/contracts/notifications';
import type { PageBounds } from '@plant-shop/platform/paging';
import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import type { DeliveryRecord } from './delivery.js';
import { bringForward } from './queue.repository.js';
import type { LogStretch } from './webhook-watermark.repository.js';

type Reader = Pick<Transaction, 'query'>;

/** Events `l` that an endpoint `w` asked for. */
export const asked = `(l.body::jsonb ->> 'event') = ANY (w.event_types) AND w.state <> 'deleted'
  AND (w.order_id IS NULL OR w.order_id = l.order_id) AND (w.plant_id IS NULL OR w.plant_id = l.plant_id)`;

/**
 * Puts rows of the CTE `wanted` (webhook_id, seq, event_id, order_id, of_others, body, traceparent) at the end of their
 * lanes. Adding to a lane waits for whoever holds it: a lane that is new after that wait has nothing to wait for. One statement, since what
 * its parts need of each other goes by RETURNING and not by what they see. Its parts are not joined: the planner takes them
 * for small, loops over both, and 10,000 rows took 10 s; an IN in the select list is hashed whatever it thinks.
 */
export const enqueueWanted = `
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
  )`;

/** It came under an earlier number already, and the endpoint has it, or gets it now. */
const isKnown = `l.repeats AND EXISTS (
        SELECT 1 FROM webhook_deliveries d WHERE d.event_id = l.event_id AND d.webhook_id = w.id
        UNION ALL
        SELECT 1 FROM event_log o WHERE o.event_id = l.event_id AND o.seq > $1 AND o.seq < l.seq)`;

const enqueueStretch: Statement = {
  name: 'webhooks-enqueue',
  text: `
    WITH wanted AS MATERIALIZED (
      SELECT w.id AS webhook_id, l.seq, l.event_id, l.order_id, false AS of_others, l.body, l.traceparent
      FROM event_log l JOIN webhooks w ON w.owner_id = l.subject
      WHERE l.seq > $1 AND l.seq <= $2 AND ${asked} AND NOT (${isKnown})
      UNION ALL
      SELECT w.id, l.seq, l.event_id, l.order_id, true, l.body, l.traceparent
      FROM event_log l JOIN webhooks w ON w.sees_all AND w.owner_id <> l.subject
      WHERE l.seq > $1 AND l.seq <= $2 AND ${asked} AND NOT (${isKnown})
    ) ${enqueueWanted}
    SELECT count(*) AS count FROM inserted`,
};

/**
 * Makes the deliveries of events of the log, in the transaction that moves the watermark of webhooks over them. An event that
 * came a second time under another number is not sent again to who has it.
 */
export function enqueueDeliveries(tx: Transaction, { after, upTo }: LogStretch): void {
  tx.send(enqueueStretch, [after, upTo]);
}

/** A `webhook.test`, outside the lanes and due at once. */
export async function insertTest(tx: Transaction, webhookId: string, eventId: string, body: string): Promise<number> {
  const inserted = await tx.query<{ id: number }>(
    `INSERT INTO webhook_deliveries (webhook_id, event_id, of_others, in_lane, body, due_at)
     VALUES ($1, $2, false, false, $3, now()) RETURNING id`,
    [webhookId, eventId, body],
  );
  await bringForward(tx, [webhookId]);
  return onlyRow(inserted).id;
}

/** The same event once more, outside the lanes and due at once. */
export async function insertCopy(tx: Transaction, webhookId: string, deliveryId: number): Promise<number> {
  const inserted = await tx.query<{ id: number }>(
    `INSERT INTO webhook_deliveries (webhook_id, event_id, seq, order_id, of_others, in_lane, body, traceparent, due_at)
     SELECT webhook_id, event_id, seq, order_id, of_others, false, body, traceparent, now() FROM webhook_deliveries
     WHERE id = $2 AND webhook_id = $1 RETURNING id`,
    [webhookId, deliveryId],
  );
  await bringForward(tx, [webhookId]);
  return onlyRow(inserted).id;
}

const shown = `d.id, d.event_id AS "eventId", d.order_id AS "orderId", d.attempts,
  CASE WHEN d.state = 'pending' AND w.state = 'disabled' THEN 'held' ELSE d.state END AS state,
  CASE WHEN w.state = 'enabled' AND d.lease IS NULL THEN d.due_at END AS "nextAttemptAt"`;

export async function findDelivery(db: Reader, webhookId: string, id: number): Promise<DeliveryRecord | undefined> {
  const [delivery] = await db.query<DeliveryRecord>(
    `SELECT ${shown} FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id
     WHERE d.id = $2 AND d.webhook_id = $1 AND (w.sees_all OR NOT d.of_others)`,
    [webhookId, id],
  );
  return delivery;
}

// For each state by itself, so that the few failed ones among millions are found by the index as well.
const listed = `
  SELECT ${shown} FROM webhooks w
  CROSS JOIN LATERAL unnest(CASE
    WHEN $2::text IS NULL THEN ARRAY['pending', 'delivered', 'failed']
    WHEN $2 = 'held' THEN CASE WHEN w.state = 'disabled' THEN ARRAY['pending'] ELSE '{}'::text[] END
    WHEN $2 = 'pending' AND w.state = 'disabled' THEN '{}'::text[]
    ELSE ARRAY[$2] END) AS wanted (state)
  CROSS JOIN LATERAL (
    SELECT * FROM webhook_deliveries d
    WHERE d.webhook_id = w.id AND d.state = wanted.state AND d.id < $3 AND (w.sees_all OR NOT d.of_others)
    ORDER BY d.id DESC LIMIT $4
  ) d
  WHERE w.id = $1 ORDER BY d.id DESC LIMIT $4`;

/** Newest first, one more than the page holds. */
export function listDeliveriesOf(
  db: Reader,
  webhookId: string,
  state: DeliveryState | undefined,
  { before, limit }: PageBounds,
): Promise<DeliveryRecord[]> {
  return db.query<DeliveryRecord>(listed, [webhookId, state ?? null, before, limit + 1]);
}
