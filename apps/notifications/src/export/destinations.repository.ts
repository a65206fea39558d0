import type { EventType } from '@plant-shop/contracts/events';
import type { HoldReason, WebhookState } from '@plant-shop/contracts/notifications';
import type { OrderStatus } from '@plant-shop/contracts/store';
import type { LowestNeeded } from '@plant-shop/events/log-retention';
import type { PageBounds } from '@plant-shop/platform/patterns/paging';
import type { Database, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { type Cursor, noEpoch } from '../log/history.js';
import { queueNow } from '../webhooks/queue/queue-clock.js';

/** What an administrator sets. */
export interface DestinationInput {
  readonly name: string;
  readonly url: string;
  readonly stream: string;
  readonly subject: string;
  readonly eventTypes: readonly EventType[];
  readonly plantId: number | null;
  readonly newStatuses: readonly OrderStatus[] | null;
  readonly perSecond: number;
}

export interface DestinationRow extends DestinationInput {
  readonly id: string;
  readonly place: number;
  readonly keyId: string | null;
  readonly encrypted: Buffer | null;
  readonly state: WebhookState;
  readonly version: number;
  /** The version with which its server was reached. */
  readonly reached: number | null;
  readonly createdAt: Date;
  readonly firstEpoch: string;
  readonly firstSeq: number;
  readonly epoch: string;
  readonly seq: number;
  readonly mark: string | null;
  readonly replaySeq: number | null;
  readonly replayEnd: number | null;
  readonly replaySince: Date | null;
  readonly replayUntil: Date | null;
  readonly heldReason: HoldReason | null;
  readonly heldDetail: string | null;
  readonly heldSince: Date | null;
}

/** With how far it is behind the log. */
export interface DestinationState extends DestinationRow {
  readonly behindEvents: number;
  readonly behindSeconds: number;
}

const columns = `d.id, d.place, d.name, d.url, d.stream, d.subject, d.key_id AS "keyId", d.encrypted, d.event_types AS "eventTypes", d.plant_id AS "plantId",
  d.new_statuses AS "newStatuses", d.per_second AS "perSecond", d.state, d.version, d.reached, d.created_at AS "createdAt", d.first_epoch AS "firstEpoch",
  d.first_seq AS "firstSeq", d.epoch, d.seq, d.mark, d.replay_seq AS "replaySeq", d.replay_end AS "replayEnd", d.replay_since AS "replaySince",
  d.replay_until AS "replayUntil", d.held_reason AS "heldReason", d.held_detail AS "heldDetail", d.held_since AS "heldSince"`;

const withState = `SELECT ${columns}, greatest(0, f.watermark - d.seq) AS "behindEvents", greatest(0, floor(extract(epoch FROM now() - (
    SELECT l.logged_at FROM event_log l WHERE l.seq > d.seq AND l.seq <= f.watermark ORDER BY l.seq LIMIT 1))))::integer AS "behindSeconds"
  FROM destinations d, feed_watermark f`;

type Reads = Pick<Database | Transaction, 'query'>;

export const findDestinations = (db: Reads, { after, limit }: PageBounds): Promise<DestinationState[]> =>
  db.query<DestinationState>(`${withState} WHERE d.place < $1 ORDER BY d.place DESC LIMIT $2`, [after, limit + 1]);

export const findAllDestinations = (db: Reads): Promise<DestinationState[]> => db.query<DestinationState>(withState);

export const findDestination = async (db: Reads, id: string): Promise<DestinationState | undefined> =>
  (await db.query<DestinationState>(`${withState} WHERE d.id = $1`, [id]))[0];

/** Finds a destination and locks it until the transaction ends. */
export async function lockDestination(tx: Transaction, id: string): Promise<DestinationRow | undefined> {
  return (await tx.query<DestinationRow>(`SELECT ${columns} FROM destinations d WHERE d.id = $1 FOR UPDATE`, [id]))[0];
}

/** Returns the number of destinations. Until the transaction ends, other callers of this wait. */
export async function lockAndCount(tx: Transaction): Promise<number> {
  await tx.query(`SELECT pg_advisory_xact_lock(hashtext('destinations'))`);
  return onlyRow(await tx.query<{ count: number }>('SELECT count(*) FROM destinations')).count;
}

const valuesOf = ({ name, url, stream, subject, eventTypes, plantId, newStatuses, perSecond }: DestinationInput): unknown[] => [
  ...[name, url, stream, subject, eventTypes, plantId, newStatuses, perSecond],
];

/** Adds a destination that begins at the end of the log. */
export async function insertDestination(tx: Transaction, id: string, input: DestinationInput, secret: Secret | undefined): Promise<void> {
  await tx.execute(
    `INSERT INTO destinations (id, name, url, stream, subject, event_types, plant_id, new_statuses, per_second, key_id, encrypted,
       first_epoch, first_seq, epoch, seq)
     SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, epoch, watermark, epoch, watermark
     FROM (SELECT coalesce(epoch, '${noEpoch}') AS epoch, watermark FROM feed_watermark) AS f`,
    [id, ...valuesOf(input), secret?.keyId ?? null, secret?.bytes ?? null],
  );
}

/** Credentials of a broker's user, encrypted. */
interface Secret {
  readonly keyId: string;
  readonly bytes: Buffer;
}

/** Replaces a locked destination, and tries it at once. A mark says nothing of another stream. */
export async function updateDestination(
  tx: Transaction,
  { id, url, stream }: DestinationRow,
  input: DestinationInput & { readonly state: WebhookState },
  secret: Secret | 'same' | undefined,
): Promise<void> {
  await tx.execute(
    `UPDATE destinations SET name = $2, url = $3, stream = $4, subject = $5, event_types = $6, plant_id = $7, new_statuses = $8, per_second = $9,
       state = $10, mark = CASE WHEN $11 THEN mark END, version = version + 1, look_at = '-infinity', pause_ms = 0,
       held_reason = NULL, held_detail = NULL, held_since = NULL
     WHERE id = $1`,
    [id, ...valuesOf(input), input.state, input.url === url && input.stream === stream],
  );
  if (secret === 'same') return;
  await tx.execute('UPDATE destinations SET key_id = $2, encrypted = $3 WHERE id = $1', [id, secret?.keyId ?? null, secret?.bytes ?? null]);
}

export async function deleteDestination(tx: Transaction, id: string): Promise<void> {
  await tx.execute('DELETE FROM destinations WHERE id = $1', [id]);
}

/** Begins a replay of the events of (after, end]. The version changes, so that the replica that publishes notices it. */
export async function beginReplay(tx: Transaction, id: string, after: number, end: number, since: string, until: string): Promise<void> {
  await tx.execute(
    `UPDATE destinations SET replay_seq = $2, replay_end = $3, replay_since = $4, replay_until = $5, version = version + 1 WHERE id = $1`,
    [id, after, end, since, until],
  );
}

/** Encrypts credentials again that are encrypted with another key. */
export async function reencryptCredentials(tx: Transaction, keyId: string, reencrypt: (row: { id: string; encrypted: Buffer }) => Secret | undefined): Promise<void> {
  const rows = await tx.query<{ id: string; encrypted: Buffer }>(
    'SELECT id, encrypted FROM destinations WHERE key_id <> $1 FOR UPDATE SKIP LOCKED',
    [keyId],
  );
  for (const row of rows) {
    const secret = reencrypt(row);
    if (secret) await tx.execute('UPDATE destinations SET key_id = $2, encrypted = $3 WHERE id = $1', [row.id, secret.keyId, secret.bytes]);
  }
}

// What the replica does that publishes. Leases and pauses are in the queue's time.

/** Leases the destinations that no replica publishes to and that are due. */
export const claimDestinations = (tx: Transaction, lease: string, leaseMs: number): Promise<DestinationRow[]> =>
  tx.query<DestinationRow>(
    {
      name: 'destinations-claim',
      text: `
        UPDATE destinations d SET lease = $1, lease_until = ${queueNow} + $2 * interval '1 millisecond'
        WHERE id IN (
          SELECT id FROM destinations WHERE state = 'enabled' AND look_at <= ${queueNow} AND lease_until <= ${queueNow} FOR UPDATE SKIP LOCKED
        ) RETURNING ${columns}`,
    },
    [lease, leaseMs],
  );

export interface Progress {
  readonly cursor: Cursor;
  readonly mark: string | null;
  /** Null when no replay is under way, any more. */
  readonly replaySeq: number | null;
}

/** Records progress and renews the lease; its server was reached, and nothing holds the destination then. Returns false if the lease or the destination is another by now: then publish nothing more. */
export async function saveProgress(
  tx: Transaction,
  { id, version }: DestinationRow,
  lease: string,
  leaseMs: number,
  { cursor, mark, replaySeq }: Progress,
): Promise<boolean> {
  const saved = await tx.execute(
    {
      name: 'destinations-save',
      text: `
        UPDATE destinations SET epoch = $4, seq = $5, mark = $6, lease_until = ${queueNow} + $3 * interval '1 millisecond', replay_seq = $7,
          replay_end = CASE WHEN $7::bigint IS NOT NULL THEN replay_end END, replay_since = CASE WHEN $7::bigint IS NOT NULL THEN replay_since END,
          replay_until = CASE WHEN $7::bigint IS NOT NULL THEN replay_until END, pause_ms = 0, reached = version, held_reason = NULL, held_detail = NULL, held_since = NULL
        WHERE id = $1 AND lease = $2 AND version = $8`,
    },
    [id, lease, leaseMs, cursor.epoch, cursor.seq, mark, replaySeq, version],
  );
  return saved === 1;
}

const firstPauseMs = 250;
const longestPauseMs = 30_000;

/** Ends a lease. With a reason, the destination is held, and tried again after a pause that doubles. */
export async function endLease(tx: Transaction, id: string, lease: string, held?: { readonly reason: HoldReason; readonly message: string }): Promise<void> {
  await tx.execute(
    `UPDATE destinations d SET lease = NULL, lease_until = '-infinity', held_reason = coalesce($3, held_reason), held_detail = coalesce($4, held_detail),
       held_since = CASE WHEN $3 IS NULL THEN held_since ELSE coalesce(held_since, now()) END,
       pause_ms = p.next, look_at = ${queueNow} + p.next * interval '1 millisecond'
     FROM (SELECT id, CASE WHEN $3::text IS NULL THEN 0 ELSE least(${longestPauseMs}, greatest(${firstPauseMs}, 2 * pause_ms)) END AS next FROM destinations) AS p
     WHERE p.id = d.id AND d.id = $1 AND d.lease = $2`,
    [id, lease, held?.reason ?? null, held?.message ?? null],
  );
}

/** Keeps retention from deleting events that an enabled destination has not got, or is to get again. */
export const eventsNotPublished: LowestNeeded = async (tx) => {
  const text = `SELECT min(least(seq, replay_seq)) + 1 AS needed FROM destinations WHERE state = 'enabled'`;
  return onlyRow(await tx.query<{ needed: number | null }>(text)).needed ?? undefined;
};

export interface LogHead {
  readonly watermark: number;
  /** Whether the destination is still the same, and its lease. */
  readonly isOurs: boolean;
  /** Changes with the history of the log. */
  readonly history: string;
}

export async function readHead(db: Reads, { id, version }: DestinationRow, lease: string): Promise<LogHead> {
  return onlyRow(
    await db.query<LogHead>({
      name: 'destinations-head',
      text: `
        SELECT watermark, EXISTS (SELECT 1 FROM destinations WHERE id = $1 AND version = $2 AND lease = $3) AS "isOurs",
          concat_ws(' ', epoch, (SELECT count(*) FROM log_epochs), (SELECT count(*) FROM event_gaps)) AS history
        FROM feed_watermark`,
    }, [id, version, lease]),
  );
}
