import type { Replay, ReplayRange } from '@plant-shop/contracts/notifications';
import { findWatermark } from '@plant-shop/events/event-log';
import { lockLogForShare } from '@plant-shop/events/log-retention';
import { CodedError } from '@plant-shop/platform/errors';
import type { Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { decodeCursor, encodeCursor, noEpoch } from '../../log/history.js';
import { enqueueWanted } from './deliveries.repository.js';
import { isOfOthers, isSubscribed, mayHave } from './queue.repository.js';
import { assertNoReplay, noteReplay } from './pending-limits.js';
import { findEnqueuedUpTo } from './positions.repository.js';

interface ReplayWindow {
  readonly webhookId: string;
  /** The range of events is (after, upTo]. */
  readonly after: number;
  readonly upTo: number;
  readonly since: string | null;
  readonly until: string | null;
  readonly limit: number;
  readonly orderId: number | null;
}

interface ReplayCount {
  readonly scheduled: number;
  /** The number of the last scheduled event; 0 for none. */
  readonly last: number;
  /** The ids of the first and the last delivery; null for none. */
  readonly from: number | null;
  readonly to: number | null;
}

const happened = (event: string): string => `(${event}.body::jsonb ->> 'timestamp')::timestamptz`;
const inRange = (event: string): string => `($4::timestamptz IS NULL OR ${happened(event)} >= $4)
  AND ($5::timestamptz IS NULL OR ${happened(event)} < $5) AND ($7::bigint IS NULL OR ${event}.order_id = $7)`;

const last = 'coalesce((SELECT max(seq) FROM wanted), 0) AS last';
const enqueued = `${enqueueWanted} SELECT count(*) AS scheduled, ${last}, min(id) AS from, max(id) AS to FROM inserted`;
const counted = `SELECT count(*) AS scheduled, ${last}, NULL::bigint AS from, NULL::bigint AS to FROM wanted`;

/** Events of the log that the endpoint subscribes to and may see now. A repeated event is sent once, with its first number. */
const logged = `
  WITH wanted AS MATERIALIZED (
    SELECT w.id AS webhook_id, l.seq, l.event_id, l.order_id, ${isOfOthers} AS of_others, l.body, l.traceparent,
      now() AS created_at
    FROM webhooks w JOIN event_log l ON l.seq > $2 AND l.seq <= $3
    WHERE w.id = $1 AND ${mayHave} AND ${isSubscribed} AND NOT l.repeats AND ${inRange('l')}
    ORDER BY l.seq LIMIT $6
  )`;

/** Events whose deliveries to this endpoint failed, without another delivery that succeeded or is pending. */
const failed = `
  WITH wanted AS MATERIALIZED (
    SELECT DISTINCT ON (d.seq) d.webhook_id, d.seq, d.event_id, d.order_id, d.of_others, d.body, d.traceparent,
      now() AS created_at
    FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id
    WHERE d.webhook_id = $1 AND d.state = 'failed' AND d.seq > $2 AND d.seq <= $3 AND (w.sees_all OR NOT d.of_others)
      AND ${inRange('d')} AND NOT EXISTS (
        SELECT 1 FROM webhook_deliveries o
        WHERE o.event_id = d.event_id AND o.webhook_id = d.webhook_id AND o.state <> 'failed')
    ORDER BY d.seq LIMIT $6
  )`;

async function run(tx: Transaction, text: string, { webhookId, after, upTo, since, until, limit, orderId }: ReplayWindow): Promise<ReplayCount> {
  return onlyRow(await tx.query<ReplayCount>(text, [webhookId, after, upTo, since, until, limit, orderId]));
}

/**
 * Returns the number of the first event that was logged at this time or later. Binary search: numbers and times ascend together, so
 * the log needs no index on its times.
 */
async function findLoggedSince(tx: Transaction, time: Date, oldest: number, head: number): Promise<number> {
  let [low, high] = [oldest, head + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [event] = await tx.query<{ at: Date }>('SELECT logged_at AS at FROM event_log WHERE seq >= $1 ORDER BY seq LIMIT 1', [middle]);
    if (event && event.at < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Limits of one call, deliveries enqueued and events scanned, so that it responds in time with any filter. */
const maxScheduled = 10_000;
const maxScanned = 100_000;
/**
 * How much earlier than it happened an event may have been logged, by the clock of this database: both clocks may be ten minutes off,
 * in opposite directions.
 */
const clockSlackMs = 20 * 60_000;

/**
 * Schedules past events again, each behind its order's pending deliveries. Leaves out events whose deliveries are not enqueued yet: they
 * are delivered anyway, if the endpoint is enabled by then.
 * @param room the most deliveries that may be added
 * @throws CodedError `invalid-cursor`, `replay-in-progress`
 */
export async function replayEvents(tx: Transaction, webhookId: string, range: ReplayRange, room: number): Promise<Replay> {
  await assertNoReplay(tx, webhookId);
  return select(tx, webhookId, range, enqueued, room);
}

/** Counts what `replayEvents` would schedule. @throws CodedError `invalid-cursor` */
export const previewReplay = (tx: Transaction, webhookId: string, range: ReplayRange): Promise<Replay> => select(tx, webhookId, range, counted, maxScheduled);

/** @param then SQL: what is done with the `wanted` events */
async function select(tx: Transaction, webhookId: string, range: ReplayRange, then: string, room: number): Promise<Replay> {
  // The lock keeps retention from deleting events until the transaction ends.
  const oldest = await lockLogForShare(tx);
  const { seq: head, epoch } = await findWatermark(tx);
  const enqueuedUpTo = await findEnqueuedUpTo(tx, webhookId);
  const after = Math.max(await findReplayStart(tx, range, epoch ?? noEpoch, { oldest, head }), oldest - 1);
  const window: ReplayWindow = {
    webhookId,
    after,
    upTo: Math.max(after, Math.min(enqueuedUpTo, after + maxScanned)),
    since: range.since ?? null,
    until: range.until ?? null,
    limit: Math.min(room, maxScheduled),
    orderId: range.orderId ?? null,
  };
  const { scheduled, last, from, to } = await run(tx, `${range.onlyFailed ? failed : logged} ${then}`, window);
  if (from !== null && to !== null) await noteReplay(tx, webhookId, from, to);
  const end = scheduled < window.limit ? window.upTo : last;
  return { scheduled, ...(end < enqueuedUpTo && { cursor: encodeCursor({ epoch: epoch ?? noEpoch, seq: end }) }) };
}

/** Returns the number after which a replay begins. @throws CodedError `invalid-cursor` */
export async function findReplayStart(
  tx: Transaction,
  { fromCursor, since }: Pick<ReplayRange, 'fromCursor' | 'since'>,
  epoch: string,
  { oldest, head }: { readonly oldest: number; readonly head: number },
): Promise<number> {
  if (fromCursor !== undefined) {
    const cursor = decodeCursor(fromCursor);
    if (cursor?.epoch === epoch && cursor.seq <= head) return cursor.seq;
    throw new CodedError('invalid-cursor', 'The cursor is not of this stream, or of an epoch that it no longer has. Use since.');
  }
  if (since === undefined) return 0;
  const logged = await findLoggedSince(tx, new Date(Date.parse(since) - clockSlackMs), oldest, head);
  // Most events of the slack are older than `since`, and would use up the limit of events scanned.
  const [first] = await tx.query<{ seq: number }>(
    `SELECT seq FROM event_log l WHERE seq >= $1 AND ${happened('l')} >= $2 ORDER BY seq LIMIT 1`,
    [logged, since],
  );
  return first ? first.seq - 1 : head;
}
