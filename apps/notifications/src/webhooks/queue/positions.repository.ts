import { noSubject } from '@plant-shop/contracts/events';
import type { Advance } from '@plant-shop/events/follower';
import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { queueNow } from './queue-clock.js';

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
    WHERE c.look_at <= ${queueNow} AND c.watermark < f.watermark AND w.state <> 'deleted'
    ORDER BY c.look_at, c.webhook_id LIMIT $1 FOR UPDATE OF c SKIP LOCKED`,
};

/** Locks the cursors of endpoints that are behind the log, those that have waited longest first. Other replicas skip them until the transaction ends. */
export function lockEndpointsBehind(tx: Transaction, limit: number): Promise<EndpointProgress[]> {
  return tx.query<EndpointProgress>(lockBehind, [limit]);
}

const nextLook: Statement = {
  name: 'webhooks-next-look',
  text: `
    SELECT extract(epoch FROM min(c.look_at) - ${queueNow})::float8 * 1000 AS "inMs"
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
  await tx.execute(`UPDATE webhook_cursors SET look_at = ${queueNow}, pause_ms = 0 WHERE webhook_id = $1`, [webhookId]);
}

/** Postpones endpoints after a failed step, so that others go first. An endpoint that failed alone pauses for 1 s, then twice as long each time, up to 60 s. */
export async function postpone(tx: Transaction, webhookIds: readonly string[]): Promise<void> {
  await tx.execute(
    `UPDATE webhook_cursors c SET look_at = ${queueNow} + p.pause_ms * interval '1 millisecond', pause_ms = p.pause_ms
     FROM (
       SELECT webhook_id, CASE WHEN $2 THEN least(60000, greatest(1000, 2 * pause_ms)) ELSE 0 END AS pause_ms
       FROM webhook_cursors WHERE webhook_id = ANY($1) FOR UPDATE SKIP LOCKED
     ) AS p WHERE c.webhook_id = p.webhook_id`,
    [webhookIds, webhookIds.length === 1],
  );
}

// The watermark: the last event whose deliveries to endpoints that see their owner's orders are enqueued. Endpoints of all orders have
// cursors.

/** The next range of the log, of which a part may have its deliveries already. */
export interface OwnRange extends Advance {
  /** Event and endpoint of the last delivery enqueued in the range. Null if there is none. */
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
 * Locks the watermark until the transaction ends and returns the next range, of at most `events` numbers from the next event on. A
 * caller that waited for another one gets what that one left; undefined if there is nothing. The log's own watermark is read without
 * a lock, so that logging never waits for this.
 */
export async function lockWebhookWatermark(tx: Transaction, events: number): Promise<OwnRange | undefined> {
  return (await tx.query<OwnRange>(lockRange, [events]))[0];
}

/** Returns the number up to which deliveries to this endpoint are enqueued. */
export async function findEnqueuedUpTo(tx: Transaction, webhookId: string): Promise<number> {
  const text = `SELECT coalesce((SELECT watermark FROM webhook_cursors WHERE webhook_id = $1),
    (SELECT watermark FROM webhook_watermark)) AS watermark`;
  return onlyRow(await tx.query<{ watermark: number }>(text, [webhookId])).watermark;
}

/**
 * Returns the number up to which deliveries to all endpoints are enqueued. Undefined if there is no endpoint: then the watermark may never
 * advance, if no replica has the role `webhooks`.
 */
export async function findLowestEnqueuedUpTo(tx: Transaction): Promise<number | undefined> {
  const text = `SELECT CASE WHEN EXISTS (SELECT 1 FROM webhooks WHERE state <> 'deleted') THEN least((SELECT watermark FROM webhook_watermark), (
    SELECT min(c.watermark) FROM webhook_cursors c JOIN webhooks w ON w.id = c.webhook_id WHERE w.state <> 'deleted')) END AS watermark`;
  return onlyRow(await tx.query<{ watermark: number | null }>(text)).watermark ?? undefined;
}

/** Returns the traces that caused the events of a range. */
export async function findCauses(tx: Transaction, { after, upTo }: Advance): Promise<(string | null)[]> {
  const rows = await tx.query<{ traceparent: string | null }>(
    'SELECT DISTINCT traceparent FROM event_log WHERE seq > $1 AND seq <= $2',
    [after, upTo],
  );
  return rows.map((row) => row.traceparent);
}

/**
 * Most events are of customers without an endpoint. If all of a range are, and earlier ones have their deliveries, the watermark passes
 * the range at once, which costs no further transaction. It never waits for the lock: the transaction that holds it enqueues deliveries.
 */
const skipOrDefer: Statement = {
  name: 'webhooks-skip-or-defer',
  text: `
    WITH place AS (
      SELECT watermark FROM webhook_watermark WHERE watermark = $1 FOR UPDATE SKIP LOCKED
    ), passed AS (
      UPDATE webhook_watermark m SET watermark = $2 FROM place
      WHERE NOT EXISTS (SELECT 1 FROM webhooks WHERE owner_id = ANY ($3::uuid[]) AND NOT made_for_all AND state <> 'deleted')
        AND NOT ('${noSubject}' = ANY ($3) AND EXISTS (SELECT 1 FROM webhooks WHERE sees_stock AND NOT made_for_all AND state <> 'deleted'))
      RETURNING 1
    )
    SELECT NOT EXISTS (SELECT 1 FROM passed) AS own, EXISTS (SELECT 1 FROM webhook_cursors) AS all`,
};

/** Which kinds of endpoints still need deliveries of logged events. */
export interface DeliveryNeeds {
  /** Some of the events are of owners with endpoints of their own orders, or of stock, or earlier ones still need deliveries. */
  readonly own: boolean;
  /** There are endpoints of all orders. */
  readonly all: boolean;
}

/**
 * Moves the watermark past logged events that need no deliveries for own orders, if nothing before them is open; else leaves their
 * deliveries to later transactions. Call it in each transaction that logs events.
 * @param owners of the events
 * @returns a function that reports after the commit what is still to be enqueued. `own` is also true if another transaction holds the
 * watermark's lock, because then it is unknown whether the range needs deliveries.
 */
export const skipOrDeferDeliveries = (tx: Transaction, { after, upTo }: Advance, owners: ReadonlySet<string>): (() => DeliveryNeeds) => {
  const rows = tx.later<DeliveryNeeds>(skipOrDefer, [after, upTo, [...owners]]);
  return () => onlyRow(rows());
};
