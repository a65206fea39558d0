import { DomainError } from '@plant-shop/contracts/errors';
import type { WebhookTest } from '@plant-shop/contracts/events';
import type { Delivery, DeliveryAttempt, DeliveryResponse, DeliveryState } from '@plant-shop/contracts/notifications';
import type { PageBounds } from '@plant-shop/platform/patterns/paging';
import type { Reader, Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { bringForward, isOfOthers, isOfStock, isSubscribed, mayHave, maySee } from './queue.repository.js';
import { maxAttempts } from './turn.js';
import { queueAhead, queueNow } from './queue-clock.js';
import { type EndpointProgress, longerPause, type OwnRange } from './positions.repository.js';

/** The public fields of a delivery. `held` is a pending delivery of a disabled endpoint. */
export interface DeliveryRecord {
  readonly id: number;
  readonly eventId: string;
  readonly eventType: string;
  readonly orderId: number | null;
  readonly createdAt: Date;
  readonly state: DeliveryState;
  readonly attempts: readonly DeliveryAttempt[];
  /** Null unless the delivery waits for this time: it is being sent, waits for a predecessor, is held, or has ended. */
  readonly nextAttemptAt: Date | null;
}

export const toDelivery = (record: DeliveryRecord): Delivery => ({
  id: record.id,
  eventId: record.eventId,
  eventType: record.eventType,
  ...(record.orderId !== null && { orderId: record.orderId }),
  createdAt: record.createdAt.toISOString(),
  state: record.state,
  attempts: record.attempts,
  ...(record.nextAttemptAt !== null && { nextAttemptAt: record.nextAttemptAt.toISOString() }),
  // A pending one gets another attempt, even one that a 410 held after the last of the schedule.
  ...((record.state === 'pending' || record.state === 'held') && { attemptsLeft: Math.max(maxAttempts - record.attempts.length, 1) }),
});

/** Throws `delivery-not-found` if there is no delivery. */
export function existingDelivery(delivery: DeliveryDetailsRecord | undefined): DeliveryDetailsRecord {
  if (!delivery) throw new DomainError('delivery-not-found', 'The webhook has no such delivery, or it has been deleted because of its age.');
  return delivery;
}

/** Returns the body of a `webhook.test` event, serialised once like every event's. */
export const testBody = (webhookId: string, now: Date): string =>
  JSON.stringify({ event: 'webhook.test', timestamp: now.toISOString(), data: { webhookId } } satisfies WebhookTest);

/**
 * SQL: appends rows of the CTE `wanted` (webhook_id, seq, event_id, order_id, of_others, body, traceparent, created_at) to their
 * lanes. Appending waits for the lock of the lane; if the lane is new after that wait, its first delivery has no predecessor and is
 * due at once. It is one statement, because its parts see one snapshot and pass rows to each other by RETURNING. Its parts are not
 * joined: the planner underestimates them and chooses a nested loop, and 10,000 rows took 10 s. An IN in the select list is always
 * hashed.
 */
export const enqueueWanted = `
  , lanes AS (
    INSERT INTO webhook_lanes AS lane (webhook_id, order_id)
    SELECT DISTINCT webhook_id, order_id FROM wanted WHERE order_id IS NOT NULL ORDER BY webhook_id, order_id
    ON CONFLICT (webhook_id, order_id) DO UPDATE SET additions = lane.additions + 1
    RETURNING webhook_id, order_id, additions = 1 AS is_new
  ), inserted AS (
    INSERT INTO webhook_deliveries (webhook_id, event_id, seq, order_id, of_others, in_lane, body, traceparent, created_at, due_at)
    SELECT webhook_id, event_id, seq, order_id, of_others, order_id IS NOT NULL, body, traceparent, created_at,
      CASE WHEN order_id IS NULL OR (
        row_number() OVER (PARTITION BY webhook_id, order_id ORDER BY seq) = 1
        AND (webhook_id, order_id) IN (SELECT webhook_id, order_id FROM lanes WHERE is_new)) THEN ${queueNow} END
    FROM wanted ORDER BY seq, webhook_id
    RETURNING id, webhook_id, due_at
  ), queues AS (
    SELECT webhook_id FROM webhook_queues
    WHERE webhook_id = ANY (ARRAY(SELECT DISTINCT webhook_id FROM inserted WHERE due_at IS NOT NULL))
    ORDER BY webhook_id FOR NO KEY UPDATE
  ), moved AS (
    UPDATE webhook_queues SET turn_at = least(turn_at, ${queueNow}) WHERE webhook_id = ANY (ARRAY(SELECT webhook_id FROM queues))
  )`;

/** SQL: the event repeats one with an earlier number, and the endpoint has that one or gets it now. @param after the position before the step */
const isKnown = (after: string): string => `l.repeats AND EXISTS (
        SELECT 1 FROM webhook_deliveries d WHERE d.event_id = l.event_id AND d.webhook_id = w.id
        UNION ALL
        SELECT 1 FROM event_log o WHERE o.event_id = l.event_id AND o.seq > ${after} AND o.seq < l.seq)`;

/** SQL: the first events of a range for endpoints that were not made for all orders. */
const ownEvents = (isTheirs: string): string => `(
      SELECT w.id AS webhook_id, l.seq, l.event_id, l.order_id, false AS of_others, l.body, l.traceparent, l.logged_at AS created_at
      FROM event_log l JOIN webhooks w ON ${isTheirs} AND NOT w.made_for_all
      WHERE l.seq > $1 AND l.seq <= $2 AND ($3::bigint IS NULL OR (l.seq, w.id) > ($3, $4::uuid))
        AND ${isSubscribed} AND NOT (${isKnown('$1')})
      ORDER BY l.seq, w.id LIMIT $5::bigint)`;

const enqueueOwnRange: Statement = {
  name: 'webhooks-enqueue',
  text: `
    WITH wanted AS MATERIALIZED (
      ${ownEvents('w.owner_id = l.subject')} UNION ALL ${ownEvents(`w.sees_stock AND ${isOfStock}`)}
      ORDER BY seq, webhook_id LIMIT $5::bigint
    ) ${enqueueWanted}, enqueued AS (
      SELECT seq, webhook_id FROM wanted ORDER BY seq DESC, webhook_id DESC LIMIT 1
    ), counted AS (
      SELECT count(*) AS count, count(*) = $5::bigint AS is_full FROM wanted
    ), passed AS (
      UPDATE webhook_watermark m SET
        watermark = CASE WHEN c.is_full THEN enqueued.seq - 1 ELSE $2 END,
        part_seq = CASE WHEN c.is_full THEN enqueued.seq END,
        part_webhook_id = CASE WHEN c.is_full THEN enqueued.webhook_id END
      FROM counted c LEFT JOIN enqueued ON true RETURNING m.watermark
    )
    SELECT c.count::integer, passed.watermark < (SELECT watermark FROM feed_watermark) AS "hasMore" FROM counted c, passed`,
};

/** The result of a step. */
export interface StepResult {
  /** Number of deliveries enqueued. */
  readonly count: number;
  /** Whether the log has more events after the step. */
  readonly hasMore: boolean;
}

/**
 * Enqueues at most `rows` deliveries to endpoints that see their owner's orders, and advances the watermark of webhooks. Endpoints do
 * not get a repeated event again. Returns a function that gives the result after the commit.
 */
export function enqueueOwn(tx: Transaction, { after, upTo, partSeq, partWebhookId }: OwnRange, rows: number): () => StepResult {
  const result = tx.later<StepResult>(enqueueOwnRange, [after, upTo, partSeq, partWebhookId, rows]);
  return () => onlyRow(result());
}

/** An endpoint gets deliveries when less than half of its window is due; then the window is filled, up to the step's share. */
const enqueueByCursor: Statement = {
  name: 'webhooks-enqueue-by-cursor',
  text: `
    WITH places AS MATERIALIZED (
      SELECT c.webhook_id, c.after, CASE WHEN due.count * 2 > $6::bigint THEN 0 ELSE least($4::bigint, $6 - due.count) END AS room,
        least($3::bigint, $5::bigint - 1 +
          coalesce((SELECT l.seq FROM event_log l WHERE l.seq > c.after AND l.seq <= $3 ORDER BY l.seq LIMIT 1), $3::bigint)) AS up_to
      FROM unnest($1::uuid[], $2::bigint[]) AS c (webhook_id, after)
      CROSS JOIN LATERAL (
        SELECT count(*) FROM (
          SELECT FROM webhook_deliveries d WHERE d.webhook_id = c.webhook_id AND d.due_at <= ${queueNow} LIMIT $6::bigint) AS first
      ) AS due
    ), wanted AS MATERIALIZED (
      SELECT w.id AS webhook_id, l.seq, l.event_id, l.order_id, ${isOfOthers} AS of_others, l.body, l.traceparent,
        l.logged_at AS created_at
      FROM places p JOIN webhooks w ON w.id = p.webhook_id
      CROSS JOIN LATERAL (
        SELECT * FROM event_log l
        WHERE l.seq > p.after AND l.seq <= p.up_to AND ${mayHave}
          AND ${isSubscribed} AND NOT (${isKnown('p.after')})
        ORDER BY l.seq LIMIT p.room
      ) AS l
    ) ${enqueueWanted}, enqueued AS (
      SELECT webhook_id, count(*) AS count, max(seq) AS seq FROM wanted GROUP BY webhook_id
    ), passed AS (
      UPDATE webhook_cursors c SET
        watermark = CASE WHEN p.room = 0 THEN p.after WHEN enqueued.count = p.room THEN enqueued.seq ELSE p.up_to END,
        pause_ms = CASE WHEN p.room = 0 THEN ${longerPause} ELSE 0 END,
        look_at = ${queueNow} + CASE WHEN p.room = 0 THEN ${longerPause} ELSE 0 END * interval '1 millisecond'
      FROM places p LEFT JOIN enqueued USING (webhook_id) WHERE c.webhook_id = p.webhook_id
    )
    SELECT count(*)::integer AS count, array_agg(DISTINCT traceparent) AS causes FROM wanted`,
};

/** Limits of one step. */
export interface StepLimits {
  /** Deliveries, shared among the endpoints of the step. */
  readonly rows: number;
  /** Events scanned per delivery of an endpoint's share, since its filters may exclude some. */
  readonly scannedPerRow: number;
  /** Deliveries of one endpoint that may be due. */
  readonly window: number;
}

/** Enqueues deliveries to endpoints of all orders, and advances their cursors, which must be locked. */
export async function enqueueForAll(
  tx: Transaction,
  cursors: readonly EndpointProgress[],
  { rows, scannedPerRow, window }: StepLimits,
): Promise<{ readonly count: number; readonly causes: readonly (string | null)[] }> {
  const share = Math.ceil(rows / cursors.length);
  const { count, causes } = onlyRow(
    await tx.query<{ count: number; causes: (string | null)[] | null }>(enqueueByCursor, [
      cursors.map((one) => one.webhookId),
      cursors.map((one) => one.after),
      cursors[0]?.head,
      share,
      share * scannedPerRow,
      window,
    ]),
  );
  return { count, causes: causes ?? [] };
}

/** Inserts a `webhook.test` delivery, outside the lanes and due at once. Returns its id. */
export async function insertTest(tx: Transaction, webhookId: string, eventId: string, body: string): Promise<number> {
  const inserted = await tx.query<{ id: number }>(
    `INSERT INTO webhook_deliveries (webhook_id, event_id, of_others, in_lane, body, due_at)
     VALUES ($1, $2, false, false, $3, ${queueNow}) RETURNING id`,
    [webhookId, eventId, body],
  );
  await bringForward(tx, [webhookId]);
  return onlyRow(inserted).id;
}

/** Inserts a copy of a delivery, outside the lanes and due at once. Returns its id. */
export async function insertCopy(tx: Transaction, webhookId: string, deliveryId: number): Promise<number> {
  const inserted = await tx.query<{ id: number }>(
    `INSERT INTO webhook_deliveries (webhook_id, event_id, seq, order_id, of_others, in_lane, body, traceparent, due_at)
     SELECT webhook_id, event_id, seq, order_id, of_others, false, body, traceparent, ${queueNow} FROM webhook_deliveries
     WHERE id = $2 AND webhook_id = $1 RETURNING id`,
    [webhookId, deliveryId],
  );
  await bringForward(tx, [webhookId]);
  return onlyRow(inserted).id;
}

const publicColumns = `d.id, d.event_id AS "eventId", d.body::jsonb ->> 'event' AS "eventType", d.order_id AS "orderId", d.created_at AS "createdAt", d.attempts,
  CASE WHEN d.state = 'pending' AND w.state = 'disabled' THEN 'held' ELSE d.state END AS state,
  CASE WHEN w.state = 'enabled' AND d.lease IS NULL THEN d.due_at - ${queueAhead} END AS "nextAttemptAt"`;

/** A delivery with what its attempts sent and received. */
export interface DeliveryDetailsRecord extends DeliveryRecord {
  readonly ofOthers: boolean;
  readonly body: string;
  readonly response: DeliveryResponse | null;
  /** Answers to attempts that failed, by number from 1. */
  readonly refusals: Readonly<Record<string, Partial<DeliveryResponse>>> | null;
  /** The answer to the attempt that succeeded. */
  readonly acceptance: Partial<DeliveryResponse> | null;
}

export async function findDelivery(db: Reader, webhookId: string, id: number): Promise<DeliveryDetailsRecord | undefined> {
  const [delivery] = await db.query<DeliveryDetailsRecord>(
    `SELECT ${publicColumns}, d.of_others AS "ofOthers", d.body, d.response, d.refusals, d.acceptance FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id
     WHERE d.id = $2 AND d.webhook_id = $1 AND ${maySee}`,
    [webhookId, id],
  );
  return delivery;
}

// Reads each state separately, so that the index also finds a few failed deliveries among millions.
const listed = `
  SELECT ${publicColumns} FROM webhooks w
  CROSS JOIN LATERAL unnest(CASE
    WHEN $2::text IS NULL THEN ARRAY['pending', 'delivered', 'failed']
    WHEN $2 = 'held' THEN CASE WHEN w.state = 'disabled' THEN ARRAY['pending'] ELSE '{}'::text[] END
    WHEN $2 = 'pending' AND w.state = 'disabled' THEN '{}'::text[]
    ELSE ARRAY[$2] END) AS wanted (state)
  CROSS JOIN LATERAL (
    SELECT * FROM webhook_deliveries d
    WHERE d.webhook_id = w.id AND d.state = wanted.state AND d.id < $3 AND ${maySee}
    ORDER BY d.id DESC LIMIT $4
  ) d
  WHERE w.id = $1 ORDER BY d.id DESC LIMIT $4`;

/** Returns deliveries, newest first, and one more than the page holds. */
export function listDeliveriesOf(
  db: Reader,
  webhookId: string,
  state: DeliveryState | undefined,
  { after, limit }: PageBounds,
): Promise<DeliveryRecord[]> {
  return db.query<DeliveryRecord>(listed, [webhookId, state ?? null, after, limit + 1]);
}
