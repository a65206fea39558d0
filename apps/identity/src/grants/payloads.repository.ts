import type { Encrypted } from '@plant-shop/platform/cipher';
import type { Reader, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';

export interface PayloadRow {
  readonly idHash: Buffer;
  readonly payload: Buffer;
  readonly consumedAt: Date | null;
}

export interface PayloadToStore {
  readonly model: string;
  readonly idHash: Buffer;
  readonly payload: Encrypted;
  /** Set for a grant and everything issued under it. */
  readonly grantId: string | undefined;
  readonly userId: string | undefined;
  readonly clientId: string | undefined;
  readonly uidHash: Buffer | undefined;
  readonly expiresInSeconds: number | undefined;
}

/** Violates `oauth_payloads_user` or `oauth_payloads_client` when the user or client was deleted. */
export async function upsertPayload(tx: Transaction, row: PayloadToStore): Promise<void> {
  await tx.execute(
    `INSERT INTO oauth_payloads
       (model, id_hash, payload, key_id, grant_id, user_id, client_id, uid_hash, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, now() + $9::double precision * interval '1 second')
     ON CONFLICT (model, id_hash) DO UPDATE SET
       payload = excluded.payload, key_id = excluded.key_id, grant_id = excluded.grant_id, user_id = excluded.user_id,
       client_id = excluded.client_id, uid_hash = excluded.uid_hash, expires_at = excluded.expires_at`,
    [
      row.model,
      row.idHash,
      row.payload.bytes,
      row.payload.keyId,
      row.grantId ?? null,
      row.userId ?? null,
      row.clientId ?? null,
      row.uidHash ?? null,
      row.expiresInSeconds ?? null,
    ],
  );
}

const columns = 'id_hash AS "idHash", payload, consumed_at AS "consumedAt"';
const isLive = '(expires_at IS NULL OR expires_at > now())';

export type PayloadIdColumn = 'id_hash' | 'uid_hash';

export async function findPayload(
  db: Reader,
  model: string,
  key: PayloadIdColumn,
  hash: Buffer,
): Promise<PayloadRow | undefined> {
  const [row] = await db.query<PayloadRow>(
    `SELECT ${columns} FROM oauth_payloads WHERE model = $1 AND ${key} = $2 AND ${isLive}`,
    [model, hash],
  );
  return row;
}

/**
 * Marks the payload as consumed.
 * @param successor of a token that may be consumed again within 10 s, until its successor is consumed
 * @returns false when it was already consumed or deleted
 */
export async function consumePayload(tx: Transaction, model: string, idHash: Buffer, successor: Buffer | undefined): Promise<boolean> {
  const consumed = await tx.execute(
    `UPDATE oauth_payloads SET consumed_at = coalesce(consumed_at, now())
     WHERE model = $1 AND id_hash = $2 AND (consumed_at IS NULL OR
       $3::bytea IS NOT NULL AND consumed_at > clock_timestamp() - interval '10 seconds' AND NOT EXISTS (
         SELECT FROM oauth_payloads s WHERE s.model = $1 AND s.id_hash = $3 AND s.consumed_at IS NOT NULL))`,
    [model, idHash, successor ?? null],
  );
  return consumed > 0;
}

/** Returns whether the grant of this unused token has at least `count` used ones. They are stored until they would have expired. */
export async function hasUsedRefreshTokens(db: Reader, token: PayloadId, count: number): Promise<boolean> {
  const rows = await db.query(
    `SELECT 1 FROM oauth_payloads
     WHERE model = $1 AND consumed_at IS NOT NULL
       AND grant_id = (SELECT grant_id FROM oauth_payloads WHERE model = $1 AND id_hash = $2 AND consumed_at IS NULL)
     OFFSET $3 LIMIT 1`,
    [token.model, token.idHash, count - 1],
  );
  return rows.length > 0;
}

export async function findGrantOf(db: Reader, model: string, idHash: Buffer): Promise<string | undefined> {
  const [row] = await db.query<{ grantId: string | null }>(
    'SELECT grant_id AS "grantId" FROM oauth_payloads WHERE model = $1 AND id_hash = $2',
    [model, idHash],
  );
  return row?.grantId ?? undefined;
}

export async function deletePayload(tx: Transaction, model: string, idHash: Buffer): Promise<void> {
  await tx.execute('DELETE FROM oauth_payloads WHERE model = $1 AND id_hash = $2', [model, idHash]);
}

/** Returns the ids of a user's grants to a client, except the newest `keep`. */
export async function findOldestGrants(db: Reader, userId: string, clientId: string, keep: number): Promise<string[]> {
  const found = await db.query<{ grantId: string }>(
    `SELECT grant_id AS "grantId" FROM oauth_payloads
     WHERE model = 'Grant' AND user_id = $1 AND client_id = $2 AND ${isLive}
     ORDER BY expires_at DESC, id_hash OFFSET $3`,
    [userId, clientId, keep],
  );
  return found.map(({ grantId }) => grantId);
}

// Both statements lock rows in order, so that concurrent deletions of the same rows cannot deadlock.

/** Deletes a grant and everything issued under it. @returns false when there was nothing */
export async function deletePayloadsOfGrant(tx: Transaction, grantId: string): Promise<boolean> {
  const deleted = await tx.execute(
    `WITH ended AS MATERIALIZED (
       SELECT model, id_hash FROM oauth_payloads WHERE grant_id = $1 ORDER BY model, id_hash FOR UPDATE)
     DELETE FROM oauth_payloads p USING ended WHERE (p.model, p.id_hash) = (ended.model, ended.id_hash)`,
    [grantId],
  );
  return deleted > 0;
}

/** Notes the provider's session in which a grant was given, by the hash of its id. */
export async function noteSessionOfGrant(tx: Transaction, grantId: string, uidHash: Buffer): Promise<void> {
  await tx.execute(`UPDATE oauth_payloads SET uid_hash = $2 WHERE grant_id = $1 AND model = 'Grant'`, [grantId, uidHash]);
}

/** Deletes the grants to public clients that were given in a session of the provider. @returns their ids */
export async function deletePublicGrantsOfSession(tx: Transaction, uidHash: Buffer): Promise<string[]> {
  const given = await tx.query<{ grantId: string }>(
    `SELECT p.grant_id AS "grantId" FROM oauth_payloads p JOIN oauth_clients c USING (client_id)
     WHERE p.model = 'Grant' AND p.uid_hash = $1 AND c.secret_hash IS NULL`,
    [uidHash],
  );
  for (const { grantId } of given) await deletePayloadsOfGrant(tx, grantId);
  return given.map(({ grantId }) => grantId);
}

/**
 * Deletes a user's grants and provider sessions.
 * @returns the ids of the grants
 */
export async function deletePayloadsOfUser(tx: Transaction, userId: string): Promise<string[]> {
  const deleted = await tx.query<{ grantId: string | null }>(
    `WITH ended AS MATERIALIZED (
       SELECT model, id_hash FROM oauth_payloads WHERE user_id = $1 ORDER BY model, id_hash FOR UPDATE)
     DELETE FROM oauth_payloads p USING ended WHERE (p.model, p.id_hash) = (ended.model, ended.id_hash)
     RETURNING p.grant_id AS "grantId"`,
    [userId],
  );
  return [...new Set(deleted.flatMap(({ grantId }) => grantId ?? []))];
}

interface PayloadId {
  readonly model: string;
  readonly idHash: Buffer;
}

/**
 * Locks the next payloads, by primary key, that were encrypted with one of these keys or an unknown one. Skips rows that
 * others have locked.
 */
export function lockPayloadsToReencrypt(
  tx: Transaction,
  keyIds: readonly string[],
  after: PayloadId | undefined,
  limit: number,
): Promise<(PayloadId & Pick<PayloadRow, 'payload'>)[]> {
  return tx.query(
    `SELECT model, id_hash AS "idHash", payload FROM oauth_payloads
     WHERE key_id = ANY ($1) AND (model, id_hash) > ($2, $3)
     ORDER BY model, id_hash LIMIT $4 FOR UPDATE SKIP LOCKED`,
    [keyIds, after?.model ?? '', after?.idHash ?? Buffer.alloc(0), limit],
  );
}

export async function replacePayloads(tx: Transaction, payloads: readonly (PayloadId & { readonly payload: Encrypted })[]): Promise<void> {
  await tx.execute(
    `UPDATE oauth_payloads p SET payload = t.payload, key_id = t.key_id
     FROM unnest($1::text[], $2::bytea[], $3::bytea[], $4::text[]) AS t (model, id_hash, payload, key_id)
     WHERE (p.model, p.id_hash) = (t.model, t.id_hash)`,
    [
      payloads.map(({ model }) => model),
      payloads.map(({ idHash }) => idHash),
      payloads.map(({ payload }) => payload.bytes),
      payloads.map(({ payload }) => payload.keyId),
    ],
  );
}

/** Counts payloads that were encrypted with another key. The condition uses ranges, which the index supports. */
export async function countPayloadsToReencrypt(db: Reader, keyId: string): Promise<number> {
  const text = 'SELECT count(*) AS count FROM oauth_payloads WHERE key_id < $1 OR key_id > $1';
  return onlyRow(await db.query<{ count: number }>(text, [keyId])).count;
}

export function deleteExpiredPayloads(tx: Transaction): Promise<number> {
  return tx.execute('DELETE FROM oauth_payloads WHERE expires_at < now()');
}

