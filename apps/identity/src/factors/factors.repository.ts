import type { Encrypted } from '@plant-shop/platform/cipher';
import type { Reader, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';

type FactorKind = 'passkey' | 'totp';

/** A second factor of a user. */
export interface FactorRecord {
  readonly id: string;
  readonly kind: FactorKind;
  readonly name: string;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  /** When a passkey's counter went back. */
  readonly lockedAt: Date | null;
}

const columns = 'id, kind, name, created_at AS "createdAt", last_used_at AS "lastUsedAt", locked_at AS "lockedAt"';

/** Returns the factors of a user, oldest first. */
export function listFactors(db: Reader, userId: string): Promise<FactorRecord[]> {
  return db.query<FactorRecord>({ name: 'list-factors', text: `SELECT ${columns} FROM factors WHERE user_id = $1 ORDER BY created_at, id` }, [userId]);
}

/** SQL: whether the user of a row has a factor, also a locked one. @param userId the column */
export const hasFactor = (userId: string): string => `EXISTS (SELECT FROM factors f WHERE f.user_id = ${userId})`;

/** Returns whether a user has a factor. */
export async function findHasFactor(db: Reader, userId: string): Promise<boolean> {
  return onlyRow(await db.query<{ has: boolean }>({ name: 'has-factor', text: `SELECT ${hasFactor('$1')} AS has` }, [userId])).has;
}

export interface PasskeyRecord extends FactorRecord {
  readonly userId: string;
  readonly credentialId: Buffer;
  readonly publicKey: Buffer;
  readonly counter: number;
  readonly transports: readonly string[];
  readonly isSynced: boolean;
}

const passkeyColumns = `${columns}, user_id AS "userId", credential_id AS "credentialId", public_key AS "publicKey", counter, transports, is_synced AS "isSynced"`;

export function listPasskeys(db: Reader, userId: string): Promise<PasskeyRecord[]> {
  return db.query<PasskeyRecord>(`SELECT ${passkeyColumns} FROM factors WHERE user_id = $1 AND kind = 'passkey' ORDER BY created_at, id`, [userId]);
}

export async function findPasskey(db: Reader, credentialId: Buffer): Promise<PasskeyRecord | undefined> {
  return (await db.query<PasskeyRecord>({ name: 'find-passkey', text: `SELECT ${passkeyColumns} FROM factors WHERE credential_id = $1` }, [credentialId]))[0];
}

/** @returns undefined if this credential is registered already */
export async function insertPasskey(
  tx: Transaction,
  one: Pick<PasskeyRecord, 'id' | 'userId' | 'name' | 'credentialId' | 'publicKey' | 'counter' | 'transports' | 'isSynced'>,
): Promise<FactorRecord | undefined> {
  const [row] = await tx.query<FactorRecord>(
    `INSERT INTO factors (id, user_id, kind, name, credential_id, public_key, counter, transports, is_synced, last_used_at)
     VALUES ($1, $2, 'passkey', $3, $4, $5, $6, $7, $8, now()) ON CONFLICT (credential_id) DO NOTHING RETURNING ${columns}`,
    [one.id, one.userId, one.name, one.credentialId, one.publicKey, one.counter, one.transports, one.isSynced],
  );
  return row;
}

/**
 * Writes a use of a passkey, whose counter must have grown, unless the authenticator does not count.
 * @returns false if it went back, or the passkey is locked or was removed
 */
export async function usePasskey(tx: Transaction, id: string, { counter, isSynced }: Pick<PasskeyRecord, 'counter' | 'isSynced'>): Promise<boolean> {
  const used = await tx.execute(
    `UPDATE factors SET counter = $2, is_synced = $3, last_used_at = now()
     WHERE id = $1 AND locked_at IS NULL AND (counter < $2 OR (counter = 0 AND $2 = 0))`,
    [id, counter, isSynced],
  );
  return used > 0;
}

/** @returns false if it was locked or removed before */
export async function lockPasskey(tx: Transaction, id: string): Promise<boolean> {
  return (await tx.execute('UPDATE factors SET locked_at = now() WHERE id = $1 AND locked_at IS NULL', [id])) > 0;
}

export interface TotpRecord {
  readonly id: string;
  readonly secret: Buffer;
}

export async function findTotp(db: Reader, userId: string): Promise<TotpRecord | undefined> {
  return (await db.query<TotpRecord>({ name: 'find-totp', text: `SELECT id, secret FROM factors WHERE user_id = $1 AND kind = 'totp'` }, [userId]))[0];
}

/** @returns undefined if the user has one already */
export async function insertTotp(
  tx: Transaction,
  one: { readonly id: string; readonly userId: string; readonly name: string; readonly secret: Encrypted; readonly step: number },
): Promise<FactorRecord | undefined> {
  const [row] = await tx.query<FactorRecord>(
    `INSERT INTO factors (id, user_id, kind, name, secret, key_id, last_step, last_used_at) VALUES ($1, $2, 'totp', $3, $4, $5, $6, now())
     ON CONFLICT (user_id) WHERE kind = 'totp' DO NOTHING RETURNING ${columns}`,
    [one.id, one.userId, one.name, one.secret.bytes, one.secret.keyId, one.step],
  );
  return row;
}

/** Accepts the code of a time step, once. @returns false if this or a later one was accepted before */
export async function useTotpStep(tx: Transaction, id: string, step: number): Promise<boolean> {
  return (await tx.execute('UPDATE factors SET last_step = $2, last_used_at = now() WHERE id = $1 AND last_step < $2', [id, step])) > 0;
}

/** Removes a factor, and with the last one the recovery codes. The caller must hold the user's row. */
export async function deleteFactor(tx: Transaction, userId: string, id: string): Promise<FactorRecord | undefined> {
  const [row] = await tx.query<FactorRecord>(`DELETE FROM factors WHERE user_id = $1 AND id = $2 RETURNING ${columns}`, [userId, id]);
  await tx.execute(`DELETE FROM recovery_codes c WHERE c.user_id = $1 AND NOT ${hasFactor('c.user_id')}`, [userId]);
  return row;
}

/** Removes all factors and recovery codes of a user. @returns the factors */
export async function deleteFactorsOf(tx: Transaction, userId: string): Promise<FactorRecord[]> {
  const rows = await tx.query<FactorRecord>(`DELETE FROM factors WHERE user_id = $1 RETURNING ${columns}`, [userId]);
  await tx.execute('DELETE FROM recovery_codes WHERE user_id = $1', [userId]);
  return rows;
}

export async function replaceRecoveryCodes(tx: Transaction, userId: string, hashes: readonly Buffer[]): Promise<void> {
  await tx.execute('DELETE FROM recovery_codes WHERE user_id = $1', [userId]);
  await tx.execute('INSERT INTO recovery_codes (user_id, code_hash) SELECT $1, h FROM unnest($2::bytea[]) AS h', [userId, hashes]);
}

export async function useRecoveryCode(tx: Transaction, userId: string, hash: Buffer): Promise<boolean> {
  return (await tx.execute('DELETE FROM recovery_codes WHERE user_id = $1 AND code_hash = $2', [userId, hash])) > 0;
}

export async function countRecoveryCodes(db: Reader, userId: string): Promise<number> {
  return onlyRow(await db.query<{ count: number }>('SELECT count(*) AS count FROM recovery_codes WHERE user_id = $1', [userId])).count;
}

/** Minutes for which a challenge can be answered. */
const challengeMinutes = 5;

export async function insertChallenge(tx: Transaction, hash: Buffer, boundTo: Buffer): Promise<void> {
  await tx.execute(
    { name: 'insert-challenge', text: `INSERT INTO passkey_challenges (challenge_hash, bound_to, expires_at) VALUES ($1, $2, now() + interval '${challengeMinutes} minutes')` },
    [hash, boundTo],
  );
}

/**
 * Uses a challenge up, whoever answers it.
 * @returns whether it was for this page and browser, and in time. One that ends later than any can is from before the clock was set back.
 */
export async function takeChallenge(tx: Transaction, hash: Buffer, boundTo: Buffer): Promise<boolean> {
  const [row] = await tx.query<{ isValid: boolean }>(
    {
      name: 'take-challenge',
      text: `DELETE FROM passkey_challenges WHERE challenge_hash = $1
             RETURNING bound_to = $2 AND expires_at > now() AND expires_at <= now() + interval '${challengeMinutes} minutes' AS "isValid"`,
    },
    [hash, boundTo],
  );
  return row?.isValid ?? false;
}

export function deleteExpiredChallenges(tx: Transaction): Promise<number> {
  return tx.execute('DELETE FROM passkey_challenges WHERE expires_at < now()');
}

/** Hours within which another administrator must confirm a removal. */
const removalHours = 24;

/**
 * Asks for the removal of a factor, or confirms it if another user has asked in time. The caller must hold the row of the factor's user.
 * @returns whether it is confirmed
 */
export async function askForRemoval(tx: Transaction, factorId: string, askedBy: string): Promise<boolean> {
  const [row] = await tx.query<{ isConfirmed: boolean }>(
    'SELECT asked_by <> $2 AND expires_at > now() AS "isConfirmed" FROM factor_removals WHERE factor_id = $1 FOR UPDATE',
    [factorId, askedBy],
  );
  if (row?.isConfirmed) return true;
  await tx.execute(
    `INSERT INTO factor_removals (factor_id, asked_by, expires_at) VALUES ($1, $2, now() + interval '${removalHours} hours')
     ON CONFLICT (factor_id) DO UPDATE SET asked_by = excluded.asked_by, expires_at = excluded.expires_at`,
    [factorId, askedBy],
  );
  return false;
}

export function deleteExpiredRemovals(tx: Transaction): Promise<number> {
  return tx.execute('DELETE FROM factor_removals WHERE expires_at < now()');
}

export interface SecretRow {
  readonly id: string;
  readonly secret: Buffer;
}

/** Locks the next secrets, by id, that were encrypted with one of these keys. Skips rows that others have locked. */
export function lockSecretsToReencrypt(tx: Transaction, keyIds: readonly string[], after: string | undefined, limit: number): Promise<SecretRow[]> {
  return tx.query<SecretRow>(
    `SELECT id, secret FROM factors WHERE key_id = ANY ($1) AND ($2::uuid IS NULL OR id > $2) ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED`,
    [keyIds, after ?? null, limit],
  );
}

export async function replaceSecret(tx: Transaction, id: string, { bytes, keyId }: Encrypted): Promise<void> {
  await tx.execute('UPDATE factors SET secret = $2, key_id = $3 WHERE id = $1', [id, bytes, keyId]);
}

/** Counts secrets that were encrypted with another key. */
export async function countSecretsToReencrypt(db: Reader, keyId: string): Promise<number> {
  return onlyRow(await db.query<{ count: number }>('SELECT count(*) AS count FROM factors WHERE key_id < $1 OR key_id > $1', [keyId])).count;
}
