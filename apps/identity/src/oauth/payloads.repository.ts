import type { Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import type { Encrypted } from '../credentials/cipher.js';

type Reader = Pick<Transaction, 'query'>;

export interface PayloadRow {
  readonly idHash: Buffer;
  readonly payload: Buffer;
  readonly consumedAt: Date | null;
}

export interface PayloadToKeep {
  readonly model: string;
  readonly idHash: Buffer;
  readonly payload: Encrypted;
  /** Of what a user granted, and of all that was issued under it. */
  readonly grantId: string | undefined;
  readonly userId: string | undefined;
  readonly clientId: string | undefined;
  readonly uidHash: Buffer | undefined;
  readonly userCodeHash: Buffer | undefined;
  readonly expiresInSeconds: number | undefined;
}

/** Violates `oauth_payloads_user` or `oauth_payloads_client` when they are gone. */
export async function upsertPayload(tx: Transaction, one: PayloadToKeep): Promise<void> {
  await tx.execute(
    `INSERT INTO oauth_payloads
       (model, id_hash, payload, key_id, grant_id, user_id, client_id, uid_hash, user_code_hash, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, now() + $10::double precision * interval '1 second')
     ON CONFLICT (model, id_hash) DO UPDATE SET
       payload = excluded.payload, key_id = excluded.key_id, grant_id = excluded.grant_id, user_id = excluded.user_id,
       client_id = excluded.client_id, uid_hash = excluded.uid_hash, user_code_hash = excluded.user_code_hash,
       expires_at = excluded.expires_at`,
    [
      one.model,
      one.idHash,
      one.payload.bytes,
      one.payload.keyId,
      one.grantId ?? null,
      one.userId ?? null,
      one.clientId ?? null,
      one.uidHash ?? null,
      one.userCodeHash ?? null,
      one.expiresInSeconds ?? null,
    ],
  );
}

const columns = 'id_hash AS "idHash", payload, consumed_at AS "consumedAt"';
const isLive = '(expires_at IS NULL OR expires_at > now())';

export type PayloadKey = 'id_hash' | 'uid_hash' | 'user_code_hash';

export async function findPayload(
  db: Reader,
  model: string,
  key: PayloadKey,
  hash: Buffer,
): Promise<PayloadRow | undefined> {
  const [row] = await db.query<PayloadRow>(
    `SELECT ${columns} FROM oauth_payloads WHERE model = $1 AND ${key} = $2 AND ${isLive}`,
    [model, hash],
  );
  return row;
}

/** @returns false when it is consumed already, or gone */
export async function consumePayload(tx: Transaction, model: string, idHash: Buffer): Promise<boolean> {
  const consumed = await tx.execute(
    'UPDATE oauth_payloads SET consumed_at = now() WHERE model = $1 AND id_hash = $2 AND consumed_at IS NULL',
    [model, idHash],
  );
  return consumed > 0;
}

/** Whether as many of a grant's refresh tokens are used already. They are kept as long as they could be shown again. */
export async function hasUsed(db: Reader, grantOf: { readonly model: string; readonly idHash: Buffer }, count: number): Promise<boolean> {
  const rows = await db.query(
    `SELECT 1 FROM oauth_payloads
     WHERE model = $1 AND consumed_at IS NOT NULL
       AND grant_id = (SELECT grant_id FROM oauth_payloads WHERE model = $1 AND id_hash = $2)
     OFFSET $3 LIMIT 1`,
    [grantOf.model, grantOf.idHash, count - 1],
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

/** What a user granted to a client, but for the newest ones. @returns ids of the grants */
export async function findOldestGrants(db: Reader, userId: string, clientId: string, kept: number): Promise<string[]> {
  const found = await db.query<{ grantId: string }>(
    `SELECT grant_id AS "grantId" FROM oauth_payloads
     WHERE model = 'Grant' AND user_id = $1 AND client_id = $2 AND ${isLive}
     ORDER BY expires_at DESC, id_hash OFFSET $3`,
    [userId, clientId, kept],
  );
  return found.map(({ grantId }) => grantId);
}

// Sorted, so that whoever ends the same at the same time waits in one direction.

/** @returns whether there was something */
export async function deletePayloadsOfGrant(tx: Transaction, grantId: string): Promise<boolean> {
  const deleted = await tx.execute(
    `WITH ended AS MATERIALIZED (
       SELECT model, id_hash FROM oauth_payloads WHERE grant_id = $1 ORDER BY model, id_hash FOR UPDATE)
     DELETE FROM oauth_payloads p USING ended WHERE (p.model, p.id_hash) = (ended.model, ended.id_hash)`,
    [grantId],
  );
  return deleted > 0;
}

/**
 * What a user granted to applications, and logins on the OAuth pages.
 * @returns ids of the grants
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

interface PayloadPlace {
  readonly model: string;
  readonly idHash: Buffer;
}

/**
 * The next of those that these keys encrypted, or of which it is not known which one did, in the order of their places. Held until the
 * transaction ends; what somebody else holds is left out.
 */
export function lockPayloadsOfKeys(
  tx: Transaction,
  keyIds: readonly string[],
  after: PayloadPlace | undefined,
  limit: number,
): Promise<(PayloadPlace & Pick<PayloadRow, 'payload'>)[]> {
  return tx.query(
    `SELECT model, id_hash AS "idHash", payload FROM oauth_payloads
     WHERE (key_id = ANY ($1) OR key_id IS NULL) AND (model, id_hash) > ($2, $3)
     ORDER BY model, id_hash LIMIT $4 FOR UPDATE SKIP LOCKED`,
    [keyIds, after?.model ?? '', after?.idHash ?? Buffer.alloc(0), limit],
  );
}

export async function replacePayloads(tx: Transaction, anew: readonly (PayloadPlace & { readonly payload: Encrypted })[]): Promise<void> {
  await tx.execute(
    `UPDATE oauth_payloads p SET payload = t.payload, key_id = t.key_id
     FROM unnest($1::text[], $2::bytea[], $3::bytea[], $4::text[]) AS t (model, id_hash, payload, key_id)
     WHERE (p.model, p.id_hash) = (t.model, t.id_hash)`,
    [
      anew.map(({ model }) => model),
      anew.map(({ idHash }) => idHash),
      anew.map(({ payload }) => payload.bytes),
      anew.map(({ payload }) => payload.keyId),
    ],
  );
}

/** What another key than this one encrypted. By ranges, so that the index finds them. */
export async function countPayloadsOfOthers(db: Reader, keyId: string): Promise<number> {
  const text = 'SELECT count(*) AS count FROM oauth_payloads WHERE key_id < $1 OR key_id > $1 OR key_id IS NULL';
  return onlyRow(await db.query<{ count: number }>(text, [keyId])).count;
}

export function deleteExpiredPayloads(tx: Transaction): Promise<number> {
  return tx.execute('DELETE FROM oauth_payloads WHERE expires_at < now()');
}
