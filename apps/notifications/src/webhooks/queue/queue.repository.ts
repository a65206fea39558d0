import { defaultEventType } from '@plant-shop/contracts/events';
import type { DeliveryAttempt, DeliveryResponse } from '@plant-shop/contracts/notifications';
import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';
import type { QueueLimits } from '../../options.js';
import { queueNow } from './queue-clock.js';
import { type Turn } from './turn.js';

// Claims and ends deliveries, in batches. When something is due is the queue's time (`QueueClock`), which a sandbox moves ahead; when a secret
// or a delivery ends is told to people, so it is the database's. Locks are always taken in the same order: idempotency keys, endpoints, their
// secrets, their owner's room, cursors or the watermark, turns, hosts, lanes, deliveries, queues. Claiming tries for turns and skips locked
// deliveries. Before it ends its turns it waits only for hosts: while another replica claims for one of them, which takes a few round trips, or
// if that replica hangs, until the server ends its transaction (5 s).

// Which endpoint `w` may have what: an event `l` of the log when it is enqueued; a delivery `d` whenever it is claimed, sent or shown.

/** SQL: an event type is one of stock, like `isStockEvent`. */
const isStockType = (type: string): string => `${type} LIKE 'stock.%'`;

/** SQL: event `l` is of stock. It belongs to no user, so an endpoint may have it that does not see all orders. */
export const isOfStock = isStockType('l.event_type');

/** SQL: endpoint `w` may see the order or the stock of event `l`, if it subscribes to it. */
export const mayHave = `(w.sees_all OR l.subject = w.owner_id OR ${isOfStock})`;

/** SQL: event `l` is of another user's order. */
export const isOfOthers = `(l.subject <> w.owner_id AND NOT ${isOfStock})`;

/** SQL: endpoint `w`, which is not deleted, subscribes to event `l`, and may see stock if it is one of stock. As `isVisibleTo` for streams. */
export const isSubscribed = `l.event_type = ANY (w.event_types) AND w.state <> 'deleted'
  AND (w.order_id IS NULL OR w.order_id = l.order_id) AND (w.plant_id IS NULL OR w.plant_id = l.plant_id)
  AND (w.new_statuses IS NULL OR l.event_type <> '${defaultEventType}' OR l.new_status = ANY (w.new_statuses))
  AND (w.sees_stock OR NOT ${isOfStock})`;

/** SQL: endpoint `w` may see the order of delivery `d`. */
export const maySee = '(w.sees_all OR NOT d.of_others)';

/** SQL: the event type of delivery `d`. The store writes it before all that others chose, and parsing the JSON costs ten times as much: 4 µs. */
const eventType = `split_part(split_part(d.body, '"event":"', 2), '"', 1)`;

/**
 * SQL: endpoint `w` subscribes to delivery `d` today. Tests and resends of orders' events (not in a lane) were asked for one by one; stock events
 * are in no lane, and always need the permission.
 */
const isWanted = `(NOT d.in_lane AND (d.seq IS NULL OR d.order_id IS NOT NULL) OR ${eventType} = ANY (w.event_types)
  AND (w.order_id IS NULL OR w.order_id = d.order_id) AND (w.plant_id IS NULL OR w.plant_id = (d.body::jsonb #>> '{data,plantId}')::bigint)
  AND (w.new_statuses IS NULL OR ${eventType} <> '${defaultEventType}' OR (d.body::jsonb #>> '{data,newStatus}') = ANY (w.new_statuses))
  AND (w.sees_stock OR NOT ${isStockType(eventType)}))`;

/**
 * Takes advisory locks instead of locking the queues' rows: enqueuing deliveries and recording outcomes would otherwise wait for a
 * claim, which takes several round trips. Over-fetches eightfold, so that queues locked by other replicas do not starve this one.
 */
const lockTurns: Statement = {
  name: 'webhooks-lock-turns',
  text: `
    SELECT id FROM (
      SELECT webhook_id AS id FROM webhook_queues q
      WHERE turn_at <= ${queueNow} AND (SELECT owner_id FROM webhooks w WHERE w.id = q.webhook_id) <> ALL ($2::uuid[])
        AND webhook_id <> ALL ($3::uuid[])
      ORDER BY turn_at LIMIT 8 * $1::bigint
    ) AS due
    WHERE pg_try_advisory_xact_lock(hashtext('turn of webhook'), hashtext(id::text)) LIMIT $1`,
};

const readTurns: Statement = {
  name: 'webhooks-read-turns',
  text: `
    SELECT q.webhook_id AS "webhookId", w.owner_id AS "ownerId", q.xmin::text AS version, w.url, w.host, w.state = 'enabled' AS "isEnabled", q.silent_attempts AS "silentAttempts",
      s.*,
      CASE WHEN q.tokens_at = '-infinity' THEN $2::float8
        ELSE least($2, q.tokens + greatest(0, extract(epoch FROM ${queueNow} - q.tokens_at)::float8) * $2) END AS tokens,
      CASE WHEN q.paused_until = '-infinity' THEN 0
        ELSE extract(epoch FROM q.paused_until - ${queueNow})::float8 * 1000 END AS "pausedForMs",
      (SELECT count(*) FROM webhook_deliveries d
       WHERE d.webhook_id = q.webhook_id AND d.lease IS NOT NULL AND d.due_at > ${queueNow}) AS leased
    FROM webhook_queues q JOIN webhooks w ON w.id = q.webhook_id
    CROSS JOIN LATERAL (
      SELECT coalesce(array_agg(encrypted ORDER BY id DESC), '{}') AS secrets, min(id) AS "oldestSecret"
      FROM webhook_secrets WHERE webhook_id = w.id AND ends_at > now()
    ) s
    WHERE q.webhook_id = ANY($1) AND q.turn_at <= ${queueNow} ORDER BY q.turn_at`,
};

/**
 * Returns endpoints whose turn it is, those that have waited longest first. Until the transaction ends, no other worker claims for
 * them.
 * @param without endpoints, and owners whose endpoints, are left out and keep their turns
 */
export async function takeTurns(
  tx: Transaction,
  limit: number,
  limits: QueueLimits,
  without: { readonly owners: readonly string[]; readonly endpoints: readonly string[] } = { owners: [], endpoints: [] },
): Promise<Turn[]> {
  const locked = await tx.query<{ id: string }>(lockTurns, [limit, without.owners, without.endpoints]);
  if (locked.length === 0) return [];
  // A second statement, with a new snapshot: it must see the changes of the worker that had the turns before.
  return tx.query<Turn>(readTurns, [locked.map((row) => row.id), limits.perSecond]);
}

/** A delivery that this worker holds until the lease ends. */
export interface ClaimedDelivery {
  readonly id: number;
  readonly webhookId: string;
  readonly eventId: string;
  readonly orderId: number | null;
  readonly inLane: boolean;
  readonly body: string;
  readonly recordedAttempts: number;
  /** False if the endpoint's filters have changed since the delivery was enqueued, and exclude it now. */
  readonly isWanted: boolean;
  /** The trace that caused the event, if it was traced. */
  readonly traceparent: string | null;
}

const claim: Statement = {
  name: 'webhooks-claim',
  text: `
    WITH due AS (
      SELECT d.id FROM unnest($1::uuid[], $2::integer[]) AS turn (webhook_id, room)
      JOIN webhooks w ON w.id = turn.webhook_id
      CROSS JOIN LATERAL (
        SELECT id FROM webhook_deliveries d
        WHERE d.webhook_id = turn.webhook_id AND d.due_at <= ${queueNow} AND ${maySee}
        ORDER BY d.due_at, d.id LIMIT turn.room FOR NO KEY UPDATE SKIP LOCKED
      ) d
    )
    UPDATE webhook_deliveries d SET lease = $3, due_at = ${queueNow} + $4 * interval '1 millisecond'
    FROM due, webhooks w WHERE d.id = due.id AND w.id = d.webhook_id
    RETURNING d.id, d.webhook_id AS "webhookId", d.event_id AS "eventId", d.order_id AS "orderId", d.in_lane AS "inLane",
      d.body, d.traceparent, jsonb_array_length(d.attempts) AS "recordedAttempts", ${isWanted} AS "isWanted"`,
};

/** Claims the oldest due deliveries of each endpoint. */
export async function claimDue(
  tx: Transaction,
  rooms: readonly { readonly webhookId: string; readonly room: number }[],
  lease: string,
  leaseMs: number,
): Promise<ClaimedDelivery[]> {
  const some = rooms.filter(({ room }) => room > 0);
  if (some.length === 0) return [];
  const claimed = await tx.query<ClaimedDelivery>(claim, [some.map((one) => one.webhookId), some.map((one) => one.room), lease, leaseMs]);
  return claimed.sort((a, b) => a.id - b.id);
}

/**
 * The next turn is when the first delivery is due, which may be a claimed one whose worker crashed. If a queue's row has changed
 * since its turn began, this statement may not see the deliveries that were enqueued, so the queue gets another turn at once.
 */
const endTurn: Statement = {
  name: 'webhooks-end-turns',
  text: `
    WITH held AS (SELECT webhook_id FROM webhook_queues WHERE webhook_id = ANY($1) ORDER BY webhook_id FOR NO KEY UPDATE)
    UPDATE webhook_queues q SET tokens = t.tokens, tokens_at = ${queueNow},
      turn_at = CASE WHEN q.xmin::text <> t.version THEN least(q.turn_at, ${queueNow}) WHEN t.pause_ms IS NULL THEN 'infinity' ELSE greatest(
        ${queueNow} + t.pause_ms * interval '1 millisecond',
        coalesce((SELECT min(due_at) FROM webhook_deliveries d WHERE d.webhook_id = q.webhook_id
                  AND ${maySee}), 'infinity')) END
    FROM unnest($1::uuid[], $2::text[], $3::float8[], $4::float8[]) AS t (webhook_id, version, tokens, pause_ms)
    JOIN webhooks w ON w.id = t.webhook_id
    WHERE q.webhook_id = t.webhook_id AND q.webhook_id IN (SELECT webhook_id FROM held)`,
};

/** @param turns with the pause before the next turn in `pauseMs`; Infinity: until `bringForward` */
export function endTurns(
  tx: Transaction,
  turns: readonly { readonly turn: Turn; readonly tokens: number; readonly pauseMs: number }[],
): void {
  tx.send(endTurn, [
    turns.map(({ turn }) => turn.webhookId),
    turns.map(({ turn }) => turn.version),
    turns.map((one) => one.tokens),
    turns.map(({ pauseMs }) => (pauseMs === Infinity ? null : pauseMs)),
  ]);
}

/** The outcome of an attempt to send a claimed delivery. */
export interface Outcome {
  readonly delivery: Pick<ClaimedDelivery, 'id' | 'webhookId' | 'orderId' | 'inLane'>;
  readonly lease: string;
  readonly attempt: DeliveryAttempt;
  readonly response?: DeliveryResponse;
  /** What is kept of any answer. */
  readonly excerpt?: Partial<DeliveryResponse>;
  /** A `pending` delivery is due again after `pauseMs`. */
  readonly state: 'delivered' | 'failed' | 'pending';
  readonly pauseMs: number;
}

interface Lane {
  readonly webhookId: string;
  readonly orderId: number;
}

const lockLanes: Statement = {
  name: 'webhooks-lock-lanes',
  text: `SELECT 1 FROM webhook_lanes WHERE (webhook_id, order_id) IN (SELECT * FROM unnest($1::uuid[], $2::bigint[]))
         ORDER BY webhook_id, order_id FOR UPDATE`,
};

const record: Statement = {
  name: 'webhooks-record-outcomes',
  text: `
    UPDATE webhook_deliveries d SET state = t.state, attempts = d.attempts || t.attempt, response = t.response, lease = NULL,
      acceptance = CASE WHEN t.state = 'delivered' THEN t.excerpt END,
      refusals = CASE WHEN t.state = 'delivered' OR t.excerpt IS NULL THEN d.refusals
        ELSE coalesce(d.refusals, '{}') || jsonb_build_object(jsonb_array_length(d.attempts) + 1, t.excerpt) END,
      due_at = CASE WHEN t.state = 'pending' THEN ${queueNow} + t.pause_ms * interval '1 millisecond' END,
      ended_at = CASE WHEN t.state <> 'pending' THEN now() END
    FROM unnest($1::bigint[], $2::uuid[], $3::text[], $4::jsonb[], $5::float8[], $6::jsonb[], $7::jsonb[])
      AS t (id, lease, state, attempt, pause_ms, response, excerpt)
    WHERE d.id = t.id AND d.lease = t.lease RETURNING d.id`,
};

const moveLanes: Statement = {
  name: 'webhooks-move-lanes',
  text: `
    WITH lane AS (
      SELECT t.webhook_id, t.order_id, next.id FROM unnest($1::uuid[], $2::bigint[]) AS t (webhook_id, order_id)
      LEFT JOIN LATERAL (
        SELECT id FROM webhook_deliveries d
        WHERE d.webhook_id = t.webhook_id AND d.order_id = t.order_id AND d.in_lane AND d.ended_at IS NULL
        ORDER BY d.id LIMIT 1
      ) next ON true
    ), started AS (
      UPDATE webhook_deliveries d SET due_at = ${queueNow} FROM lane WHERE d.id = lane.id AND d.due_at IS NULL
    )
    DELETE FROM webhook_lanes l USING lane
    WHERE lane.id IS NULL AND l.webhook_id = lane.webhook_id AND l.order_id = lane.order_id`,
};

/**
 * Records outcomes of deliveries whose leases are still held, and makes the successors of ended deliveries due. Sends its statements
 * without awaiting results, because the statements that follow lock the queues' rows. Returns a function that gives the recorded ids
 * after the commit.
 */
export function recordOutcomes(tx: Transaction, outcomes: readonly Outcome[]): () => Set<number> {
  const lanes = lanesOf(outcomes.flatMap(({ delivery, state }) => (state === 'pending' ? [] : [delivery])));
  holdLanes(tx, lanes);
  const written = tx.later<{ id: number }>(record, [
    outcomes.map((one) => one.delivery.id),
    outcomes.map((one) => one.lease),
    outcomes.map((one) => one.state),
    outcomes.map((one) => JSON.stringify(one.attempt)),
    outcomes.map((one) => one.pauseMs),
    outcomes.map(({ response }) => (response ? JSON.stringify(response) : null)),
    outcomes.map(({ excerpt }) => (excerpt ? JSON.stringify(excerpt) : null)),
  ]);
  advanceLanes(tx, lanes);
  return () => new Set(written().map((row) => row.id));
}

/** Returns the distinct lanes of deliveries. */
export const lanesOf = (ended: readonly Pick<ClaimedDelivery, 'webhookId' | 'orderId' | 'inLane'>[]): Lane[] => [
  ...new Map(
    ended.flatMap(({ webhookId, orderId, inLane }) =>
      inLane && orderId !== null ? [[`${webhookId} ${orderId}`, { webhookId, orderId }] as const] : [],
    ),
  ).values(),
];

/** Locks lanes. Call before deliveries in them are ended. */
export function holdLanes(tx: Transaction, lanes: readonly Lane[]): void {
  if (lanes.length > 0) tx.send(lockLanes, columnsOf(lanes));
}

/** Makes the next delivery of each lane due, and deletes lanes without one. Call after deliveries in them have ended. */
export function advanceLanes(tx: Transaction, lanes: readonly Lane[]): void {
  if (lanes.length > 0) tx.send(moveLanes, columnsOf(lanes));
}

const columnsOf = (lanes: readonly Lane[]): [string[], number[]] => [
  lanes.map((lane) => lane.webhookId),
  lanes.map((lane) => lane.orderId),
];

/** How an endpoint responded to a batch of attempts. */
export interface Health {
  readonly webhookId: string;
  /** At least one attempt succeeded. */
  readonly delivered: boolean;
  /** At least one attempt got a response, of any status. */
  readonly answered: boolean;
  /** At least one attempt got a prompt response. */
  readonly prompt: boolean;
  /** Number of attempts without a prompt response. */
  readonly silentAttempts: number;
  /** The pause that the endpoint asked for. */
  readonly pauseMs: number;
  /** Of the last attempt that failed. */
  readonly error?: string | undefined;
}

const noteHealthOf: Statement = {
  name: 'webhooks-note-health',
  text: `
    WITH health AS (
      SELECT t.*, q.silent_attempts AS before,
        -- A batch in flight when the endpoint fell silent counts once: pauses grow with time, not with traffic.
        CASE WHEN t.prompt THEN 0 ELSE least(q.silent_attempts + t.silent, greatest(q.silent_attempts, $7::integer - 1) + 1) END AS silent_now
      FROM webhook_queues q JOIN unnest($1::uuid[], $2::boolean[], $3::boolean[], $4::boolean[], $5::integer[], $6::float8[], $10::text[])
        AS t (webhook_id, delivered, answered, prompt, silent, pause_ms, error) USING (webhook_id)
      ORDER BY q.webhook_id FOR NO KEY UPDATE OF q
    )
    UPDATE webhook_queues q SET turn_at = least(q.turn_at, ${queueNow}), silent_attempts = h.silent_now,
      failing_since = CASE WHEN h.delivered THEN NULL ELSE coalesce(q.failing_since, ${queueNow}) END,
      last_error = CASE WHEN h.delivered THEN NULL ELSE h.error END,
      paused_until = CASE
        WHEN h.silent_now >= $7 THEN greatest(q.paused_until, ${queueNow} + interval '1 millisecond' * greatest(h.pause_ms,
          -- Pauses do not grow for a receiver that responds, though slowly.
          CASE WHEN h.answered THEN $8::float8 ELSE least($9::float8, $8::float8 * 2 ^ least(h.silent_now - $7, 20)) END))
        WHEN h.pause_ms > 0 THEN greatest(q.paused_until, ${queueNow} + h.pause_ms * interval '1 millisecond')
        ELSE q.paused_until END
    FROM health h WHERE q.webhook_id = h.webhook_id`,
};

export function noteHealth(tx: Transaction, health: readonly Health[], limits: QueueLimits): void {
  tx.send(noteHealthOf, [
    health.map((one) => one.webhookId),
    health.map((one) => one.delivered),
    health.map((one) => one.answered),
    health.map((one) => one.prompt),
    health.map((one) => one.silentAttempts),
    health.map((one) => one.pauseMs),
    limits.silentAttempts,
    limits.pauseMs,
    limits.longestPauseMs,
    health.map((one) => one.error ?? null),
  ]);
}

/** Returns those of these endpoints that have had no success for `forMs`. */
export async function findFailing(tx: Transaction, webhookIds: readonly string[], forMs: number): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(
    `SELECT webhook_id AS id FROM webhook_queues
     WHERE webhook_id = ANY($1) AND failing_since <= ${queueNow} - $2 * interval '1 millisecond'`,
    [webhookIds, forMs],
  );
  return rows.map((row) => row.id);
}

const renew: Statement = {
  name: 'webhooks-renew-leases',
  text: `
    WITH claims AS MATERIALIZED (
      SELECT t.id, t.lease, coalesce(w.state = 'enabled' AND w.url = t.url AND ${maySee} AND ${isWanted}
        AND EXISTS (SELECT 1 FROM webhook_secrets s WHERE s.id = t.oldest_secret AND s.ends_at > now()), false) AS holds
      FROM unnest($1::bigint[], $2::uuid[], $3::text[], $4::bigint[]) AS t (id, lease, url, oldest_secret)
      LEFT JOIN webhook_deliveries d ON d.id = t.id AND d.lease = t.lease LEFT JOIN webhooks w ON w.id = d.webhook_id
    ), free AS (
      SELECT d.id FROM webhook_deliveries d JOIN claims c ON c.id = d.id AND c.lease = d.lease WHERE c.holds
      FOR NO KEY UPDATE OF d SKIP LOCKED
    ), renewed AS (
      UPDATE webhook_deliveries d SET due_at = ${queueNow} + $5 * interval '1 millisecond' FROM free WHERE d.id = free.id RETURNING d.id
    )
    SELECT id, holds, id IN (SELECT id FROM renewed) AS "isRenewed" FROM claims`,
};

/** What became of a claim. */
export interface Renewal {
  readonly id: number;
  /** Whether everything that the claim was made from is as it was. If not, the delivery must not be sent. */
  readonly holds: boolean;
  /** False also while another transaction has locked the row: its outcome is being recorded, or its lease had ended. */
  readonly isRenewed: boolean;
}

/** A claim, with what its attempt was made with. */
interface Claim {
  readonly id: number;
  readonly lease: string;
  readonly url: string;
  readonly oldestSecret: number | null;
}

/** Extends the leases of claims that still hold. */
export function renewLeases(tx: Transaction, claims: readonly Claim[], leaseMs: number): Promise<Renewal[]> {
  return tx.query<Renewal>(renew, [
    claims.map((one) => one.id),
    claims.map((one) => one.lease),
    claims.map((one) => one.url),
    claims.map((one) => one.oldestSecret),
    leaseMs,
  ]);
}

/** Releases claims: their deliveries are due at once. Their endpoints need `bringForward`. */
export function giveBack(tx: Transaction, claims: readonly Pick<Claim, 'id' | 'lease'>[]): void {
  tx.send(
    `UPDATE webhook_deliveries d SET lease = NULL, due_at = ${queueNow} FROM unnest($1::bigint[], $2::uuid[]) AS t (id, lease)
     WHERE d.id = t.id AND d.lease = t.lease`,
    [claims.map((one) => one.id), claims.map((one) => one.lease)],
  );
}

/** Gives endpoints a turn now, because they may have due deliveries. */
export async function bringForward(tx: Transaction, webhookIds: readonly string[]): Promise<void> {
  await tx.execute(
    `WITH queues AS (SELECT webhook_id FROM webhook_queues WHERE webhook_id = ANY($1) ORDER BY webhook_id FOR NO KEY UPDATE)
     UPDATE webhook_queues SET turn_at = least(turn_at, ${queueNow}) WHERE webhook_id IN (SELECT webhook_id FROM queues)`,
    [webhookIds],
  );
}
