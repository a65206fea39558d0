import type { Permission } from '@plant-shop/contracts/permissions';
import type { Transaction } from '@plant-shop/platform/postgres/database';
import type { ApiKeyRecord } from './api-key.js';

type Reader = Pick<Transaction, 'query'>;

const columns = `id, name, prefix, permissions, created_at AS "createdAt", expires_at AS "expiresAt",
  last_used_at AS "lastUsedAt"`;
const isLive = 'revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())';

/** Keys that work, newest first. */
export function listLiveKeys(db: Reader, userId: string): Promise<ApiKeyRecord[]> {
  return db.query<ApiKeyRecord>(
    `SELECT ${columns} FROM api_keys WHERE user_id = $1 AND ${isLive} ORDER BY created_at DESC, id DESC`,
    [userId],
  );
}

/** The caller holds the user's row: nobody else adds a key meanwhile. */
export async function countLiveKeys(tx: Transaction, userId: string): Promise<number> {
  const [row] = await tx.query<{ count: number }>(
    `SELECT count(*) AS count FROM api_keys WHERE user_id = $1 AND ${isLive}`,
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

/** @returns undefined when there is a key with this hash already */
export async function insertKey(tx: Transaction, key: KeyToInsert): Promise<ApiKeyRecord | undefined> {
  const [created] = await tx.query<ApiKeyRecord>(
    `INSERT INTO api_keys (id, user_id, name, prefix, key_hash, permissions, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (key_hash) DO NOTHING RETURNING ${columns}`,
    [key.id, key.userId, key.name, key.prefix, key.keyHash, key.permissions, key.expiresAt ?? null],
  );
  return created;
}

export async function revokeKey(tx: Transaction, userId: string, id: string): Promise<ApiKeyRecord | undefined> {
  const [revoked] = await tx.query<ApiKeyRecord>(
    `UPDATE api_keys SET revoked_at = now() WHERE id = $1 AND user_id = $2 AND revoked_at IS NULL RETURNING ${columns}`,
    [id, userId],
  );
  return revoked;
}

/** Makes room for a key with this hash, if the one that has it works no more. */
export async function removeDeadKey(tx: Transaction, keyHash: Buffer): Promise<void> {
  await tx.execute(`DELETE FROM api_keys WHERE key_hash = $1 AND NOT (${isLive})`, [keyHash]);
}

/** At most once a minute for a key, whichever replicas it was seen by. */
export function touchKeys(tx: Transaction, ids: readonly string[]): Promise<number> {
  return tx.execute(
    `UPDATE api_keys SET last_used_at = now()
     WHERE id = ANY($1) AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')`,
    [ids],
  );
}

export function deleteDeadKeys(tx: Transaction): Promise<number> {
  return tx.execute(`DELETE FROM api_keys WHERE least(revoked_at, expires_at) < now() - interval '30 days'`);
}
