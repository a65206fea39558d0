import { DomainError } from '@plant-shop/contracts/errors';
import type { Reader, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import type { PendingLimits } from '../../options.js';

/** When a client should ask again, in seconds: a thousand deliveries may be sent in one. */
const retryAfter = 10;

const counted = `
  SELECT
    (SELECT count(*) FROM (SELECT FROM webhook_deliveries WHERE webhook_id = $1 AND ended_at IS NULL LIMIT $3::bigint) AS d) AS endpoint,
    (SELECT count(*) FROM (
      SELECT FROM webhooks w JOIN webhook_deliveries d ON d.webhook_id = w.id AND d.ended_at IS NULL
      WHERE w.owner_id = $2 AND w.state <> 'deleted' LIMIT $4::bigint) AS d) AS owner`;

/**
 * Returns how many deliveries a request may add, at least one. Until the transaction ends, other requests of the owner wait here.
 * @throws DomainError `too-many-deliveries`
 */
export async function lockRoom(tx: Transaction, webhook: { readonly id: string; readonly ownerId: string }, limits: PendingLimits): Promise<number> {
  await tx.query(`SELECT pg_advisory_xact_lock(hashtext('deliveries of'), hashtext($1))`, [webhook.ownerId]);
  const { endpoint, owner } = onlyRow(
    await tx.query<{ endpoint: number; owner: number }>(counted, [webhook.id, webhook.ownerId, limits.perEndpoint, limits.perOwner]),
  );
  if (endpoint >= limits.perEndpoint) throw tooMany(`${endpoint} deliveries of this webhook`, endpoint);
  if (owner >= limits.perOwner) throw tooMany(`${owner} deliveries of your webhooks`, owner);
  return Math.min(limits.perEndpoint - endpoint, limits.perOwner - owner);
}

const tooMany = (what: string, waiting: number): DomainError =>
  new DomainError('too-many-deliveries', `At least ${what} wait to be sent. Wait until some have been, or delete the webhook.`, { waiting, retryAfter });

/**
 * The deliveries of the last replay that were not attempted. Those behind a delivery that failed do not count: it is retried for days.
 * Other deliveries of its order are attempted after it.
 */
const replayed = `
  SELECT d.id FROM webhook_queues q JOIN webhook_deliveries d ON d.webhook_id = q.webhook_id
  WHERE q.webhook_id = $1 AND d.state = 'pending' AND d.id BETWEEN q.replayed_from AND q.replayed_to AND d.attempts = '[]'`;

const inProgress = `
  WITH waiting AS MATERIALIZED (${replayed})
  SELECT count(*) AS waiting, EXISTS (
    SELECT 1 FROM waiting JOIN webhook_deliveries d USING (id) WHERE coalesce((
      SELECT first.attempts = '[]' FROM webhook_deliveries first
      WHERE first.webhook_id = d.webhook_id AND first.order_id = d.order_id AND first.in_lane AND first.ended_at IS NULL
      ORDER BY first.id LIMIT 1), true)) AS "isInProgress"
  FROM waiting`;

/** @throws DomainError `replay-in-progress` */
export async function assertNoReplay(tx: Transaction, webhookId: string): Promise<void> {
  const { waiting, isInProgress } = onlyRow(await tx.query<{ waiting: number; isInProgress: boolean }>(inProgress, [webhookId]));
  if (!isInProgress) return;
  throw new DomainError('replay-in-progress', `${waiting} deliveries of this webhook's last replay were not attempted yet. Replay again after them.`, {
    waiting,
    retryAfter,
  });
}

export async function noteReplay(tx: Transaction, webhookId: string, from: number, to: number): Promise<void> {
  await tx.execute('UPDATE webhook_queues SET replayed_from = $2, replayed_to = $3 WHERE webhook_id = $1', [webhookId, from, to]);
}

/** How an endpoint's deliveries stand. */
export interface Backlog {
  /** So many deliveries or events of the log wait for it that requests may add none. */
  readonly isBehind: boolean;
  /** Time of the first failure since the last success. */
  readonly failingSince: Date | null;
  readonly lastError: string | null;
}

export const noBacklog: Backlog = { isBehind: false, failingSince: null, lastError: null };

/** Returns the backlog of each of these endpoints, by its id. */
export async function findBacklogs(db: Reader, webhookIds: readonly string[], { perEndpoint }: PendingLimits): Promise<Map<string, Backlog>> {
  const rows = await db.query<Backlog & { id: string }>(
    `SELECT webhook_id AS id, failing_since AS "failingSince", last_error AS "lastError",
       EXISTS (SELECT FROM webhook_deliveries d WHERE d.webhook_id = q.webhook_id AND d.ended_at IS NULL OFFSET $2::bigint - 1)
       OR EXISTS (SELECT FROM webhook_cursors c, feed_watermark f WHERE c.webhook_id = q.webhook_id AND f.watermark - c.watermark >= $2) AS "isBehind"
     FROM webhook_queues q WHERE webhook_id = ANY($1)`,
    [webhookIds, perEndpoint],
  );
  return new Map(rows.map(({ id, ...backlog }) => [id, backlog]));
}
