import type { Encrypted } from '@plant-shop/platform/cipher';
import type { Reader, Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import type { JWK } from 'jose';

export interface NewSigningKey {
  readonly kid: string;
  readonly publicJwk: JWK;
  readonly privateJwk: Encrypted;
}

export interface SigningKeyRecord {
  readonly kid: string;
  readonly publicJwk: JWK;
  readonly encryptedPrivateJwk: Buffer;
  /** False while the key is only published. */
  readonly maySign: boolean;
}

/** Serialises changes of the signing keys: each transaction sees the keys of the one before. */
export async function lockSigningKeys(tx: Transaction): Promise<void> {
  await tx.execute('LOCK TABLE signing_keys IN SHARE ROW EXCLUSIVE MODE');
}

const verifying: Statement = {
  name: 'list-signing-keys',
  text: `SELECT kid, public_jwk AS "publicJwk", private_jwk AS "encryptedPrivateJwk", signs_from <= now() AS "maySign"
         FROM signing_keys WHERE verifies_until IS NULL OR verifies_until > now()
         ORDER BY signs_from DESC, kid`,
};

/** Returns the keys that verify tokens, newest first. */
export function listSigningKeys(db: Reader): Promise<SigningKeyRecord[]> {
  return db.query<SigningKeyRecord>(verifying);
}

export async function insertSigningKey(tx: Transaction, key: NewSigningKey, signsInSeconds: number): Promise<void> {
  await tx.execute(
    `INSERT INTO signing_keys (kid, public_jwk, private_jwk, key_id, signs_from)
     VALUES ($1, $2, $3, $4, now() + $5 * interval '1 second')`,
    [key.kid, JSON.stringify(key.publicJwk), key.privateJwk.bytes, key.privateJwk.keyId, signsInSeconds],
  );
}

/** Lets the keys without a successor verify for this long from now. */
export async function retireSigningKeys(tx: Transaction, successorKid: string, inSeconds: number): Promise<void> {
  await tx.execute(
    `UPDATE signing_keys SET verifies_until = now() + $2 * interval '1 second'
     WHERE verifies_until IS NULL AND kid <> $1`,
    [successorKid, inSeconds],
  );
}

/** @returns the ids of the deleted keys */
export async function deleteSigningKeys(tx: Transaction, kids: readonly string[]): Promise<string[]> {
  const deleted = await tx.query<{ kid: string }>('DELETE FROM signing_keys WHERE kid = ANY ($1) RETURNING kid', [kids]);
  return deleted.map(({ kid }) => kid);
}

/** Lets the key without a successor sign now. @returns its id, if there is one */
export async function signAtOnce(tx: Transaction): Promise<string | undefined> {
  const [key] = await tx.query<{ kid: string }>(
    'UPDATE signing_keys SET signs_from = least(signs_from, now()) WHERE verifies_until IS NULL RETURNING kid',
  );
  return key?.kid;
}

/** Locks the signing keys that were encrypted with another key, including ended ones. Skips rows that others have locked. */
export function lockSigningKeysToReencrypt(
  tx: Transaction,
  keyId: string,
): Promise<Pick<SigningKeyRecord, 'kid' | 'encryptedPrivateJwk'>[]> {
  return tx.query(
    `SELECT kid, private_jwk AS "encryptedPrivateJwk" FROM signing_keys
     WHERE key_id <> $1 FOR UPDATE SKIP LOCKED`,
    [keyId],
  );
}

export async function replacePrivateJwk(tx: Transaction, kid: string, { keyId, bytes }: Encrypted): Promise<void> {
  await tx.execute('UPDATE signing_keys SET private_jwk = $2, key_id = $3 WHERE kid = $1', [kid, bytes, keyId]);
}

export async function countSigningKeysToReencrypt(db: Reader, keyId: string): Promise<number> {
  const text = 'SELECT count(*) AS count FROM signing_keys WHERE key_id <> $1';
  return onlyRow(await db.query<{ count: number }>(text, [keyId])).count;
}

export function deleteEndedSigningKeys(tx: Transaction): Promise<number> {
  return tx.execute('DELETE FROM signing_keys WHERE verifies_until < now()');
}
