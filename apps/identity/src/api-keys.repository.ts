import type { ApiKey } from '@plant-shop/contracts/identity.api-keys';
import type { Permission } from '@plant-shop/contracts/permissions';
import type { Reader, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import type { RevocationTarget } from './revocations/revocations.js';

export interface ApiKeyRecord {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly permissions: readonly Permission[];
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly lastUsedAt: Date | null;
}

export const toApiKey = (key: ApiKeyRecord): ApiKey => ({
  id: key.id,
  name: key.name,
  prefix: key.prefix,
  permissions: key.permissions,
  createdAt: key.createdAt.toISOString(),
  ...(key.expiresAt && { expiresAt: key.expiresAt.toISOString() }),
  ...(key.lastUsedAt && { lastUsedAt: key.lastUsedAt.toISOString() }),
});

const columns = `id, name, prefix, permissions, created_at AS "createdAt", expires_at AS "expiresAt",
  last_used_at AS "lastUsedAt"`;
const isLive = (key: string): string =>
  `${key}.revoked_at IS NULL AND (${key}.expires_at IS NULL OR ${key}.expires_at > now())`;

/** Returns live keys, newest first. */
export function listLiveKeys(db: Reader, userId: string): Promise<ApiKeyRecord[]> {
  return db.query<ApiKeyRecord>(
    `SELECT ${columns} FROM api_keys k WHERE user_id = $1 AND ${isLive('k')} ORDER BY created_at DESC, id DESC`,
    [userId],
  );
}

/** Counts live keys; a key and its successor count as one. The caller must hold the user's row, so that no key is added meanwhile. */
export async function countLiveKeys(tx: Transaction, userId: string): Promise<number> {
  const [row] = await tx.query<{ count: number }>(
    `SELECT count(*) AS count FROM api_keys k WHERE user_id = $1 AND ${isLive('k')}
       AND NOT EXISTS (SELECT 1 FROM api_keys s WHERE s.id = k.successor_id AND ${isLive('s')})`,
    [userId],
  );
  return row?.count ?? 0;
}

export interface KeyToInsert {
  readonly id: string;
  readonly userId: string;
  readonly name: string;
  readonly prefix: string;
  readonly keyHash: Buffer;
  readonly permissions: readonly Permission[];
  readonly expiresAt: string | undefined;
}

/** @returns undefined when a key with this hash exists */
export async function insertKey(tx: Transaction, key: KeyToInsert): Promise<ApiKeyRecord | undefined> {
  const [created] = await tx.query<ApiKeyRecord>(
    `INSERT INTO api_keys (id, user_id, name, prefix, key_hash, permissions, expires_at, lifetime)
     VALUES ($1, $2, $3, $4, $5, $6, $7::timestamptz, $7::timestamptz - now())
     ON CONFLICT (key_hash) DO NOTHING RETURNING ${columns}`,
    [key.id, key.userId, key.name, key.prefix, key.keyHash, key.permissions, key.expiresAt ?? null],
  );
  return created;
}

export async function revokeKey(tx: Transaction, userId: string, id: string): Promise<ApiKeyRecord | undefined> {
  const [revoked] = await tx.query<ApiKeyRecord>(
    `UPDATE api_keys k SET revoked_at = now() WHERE id = $1 AND user_id = $2 AND ${isLive('k')} RETURNING ${columns}`,
    [id, userId],
  );
  return revoked;
}

/** Revokes all live keys of a user. @returns revocations to append at the end of the transaction */
export async function revokeKeysOf(tx: Transaction, userId: string): Promise<RevocationTarget[]> {
  const revoked = await tx.query<{ id: string }>(`UPDATE api_keys k SET revoked_at = now() WHERE user_id = $1 AND ${isLive('k')} RETURNING id`, [userId]);
  return revoked.map(({ id }) => ({ kind: 'apiKey', id }));
}

export interface KeyToReplace {
  readonly permissions: readonly Permission[];
  readonly isBeingReplaced: boolean;
}

/**
 * Locks a live key and returns whether it has a live predecessor or successor. The caller must hold the user's row, so
 * that no key is rotated meanwhile.
 */
export async function lockKeyToReplace(
  tx: Transaction,
  userId: string,
  id: string,
): Promise<KeyToReplace | undefined> {
  const [key] = await tx.query<KeyToReplace>(
    `SELECT permissions, EXISTS (
       SELECT 1 FROM api_keys o WHERE (o.id = k.successor_id OR o.successor_id = k.id) AND ${isLive('o')}
     ) AS "isBeingReplaced"
     FROM api_keys k WHERE id = $1 AND user_id = $2 AND ${isLive('k')} FOR NO KEY UPDATE OF k`,
    [id, userId],
  );
  return key;
}

/** Inserts a successor with the name and lifetime of its predecessor. */
export async function insertSuccessor(
  tx: Transaction,
  predecessorId: string,
  successor: Pick<KeyToInsert, 'id' | 'prefix' | 'keyHash' | 'permissions'>,
): Promise<ApiKeyRecord> {
  const inserted = await tx.query<ApiKeyRecord>(
    `INSERT INTO api_keys (id, user_id, name, prefix, key_hash, permissions, expires_at, lifetime)
     SELECT $2, user_id, name, $3, $4, $5, now() + lifetime, lifetime FROM api_keys WHERE id = $1
     RETURNING ${columns}`,
    [predecessorId, successor.id, successor.prefix, successor.keyHash, successor.permissions],
  );
  return onlyRow(inserted);
}

/** Lets the key expire after the grace period, or earlier if it would have expired anyway. */
export async function endAfterGrace(
  tx: Transaction,
  id: string,
  successorId: string,
  graceSeconds: number,
): Promise<void> {
  await tx.execute(
    `UPDATE api_keys SET successor_id = $2, expires_at = least(expires_at, now() + $3 * interval '1 second')
     WHERE id = $1`,
    [id, successorId, graceSeconds],
  );
}

/** Deletes the key with this hash if it has ended, so that the hash can be inserted again. */
export async function deleteEndedKey(tx: Transaction, keyHash: Buffer): Promise<void> {
  await tx.execute(`DELETE FROM api_keys k WHERE key_hash = $1 AND NOT (${isLive('k')})`, [keyHash]);
}

/** Writes the last use, at most once a minute per key over all replicas. */
export function touchKeys(tx: Transaction, ids: readonly string[]): Promise<number> {
  return tx.execute(
    `UPDATE api_keys SET last_used_at = now()
     WHERE id = ANY($1) AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')`,
    [ids],
  );
}

/** Deletes keys that ended more than 30 days ago. */
export function deleteOldKeys(tx: Transaction): Promise<number> {
  return tx.execute(`DELETE FROM api_keys WHERE least(revoked_at, expires_at) < now() - interval '30 days'`);
}
