import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';
import type { JWK } from 'jose';

type Reader = Pick<Transaction, 'query'>;

export interface NewSigningKey {
  readonly kid: string;
  readonly publicJwk: JWK;
  readonly encryptedPrivateJwk: Buffer;
}

export interface SigningKeyRecord extends NewSigningKey {
  /** False: it is only published so far. */
  readonly maySign: boolean;
}

/** Whoever makes a key waits for others that do, and then finds theirs. */
export async function lockSigningKeys(tx: Transaction): Promise<void> {
  await tx.execute('LOCK TABLE signing_keys IN SHARE ROW EXCLUSIVE MODE');
}

const verifying: Statement = {
  name: 'list-signing-keys',
  text: `SELECT kid, public_jwk AS "publicJwk", private_jwk AS "encryptedPrivateJwk", signs_from <= now() AS "maySign"
         FROM signing_keys WHERE verifies_until IS NULL OR verifies_until > now()
         ORDER BY signs_from DESC, kid`,
};

/** Keys that verify, newest first. */
export function listSigningKeys(db: Reader): Promise<SigningKeyRecord[]> {
  return db.query<SigningKeyRecord>(verifying);
}

export async function insertSigningKey(tx: Transaction, key: NewSigningKey, signsInSeconds: number): Promise<void> {
  await tx.execute(
    `INSERT INTO signing_keys (kid, public_jwk, private_jwk, signs_from)
     VALUES ($1, $2, $3, now() + $4 * interval '1 second')`,
    [key.kid, JSON.stringify(key.publicJwk), key.encryptedPrivateJwk, signsInSeconds],
  );
}

/** The keys that had no successor so far verify for this long, and no longer. */
export async function endSigningKeys(tx: Transaction, successorKid: string, inSeconds: number): Promise<void> {
  await tx.execute(
    `UPDATE signing_keys SET verifies_until = now() + $2 * interval '1 second'
     WHERE verifies_until IS NULL AND kid <> $1`,
    [successorKid, inSeconds],
  );
}

/** @returns ids of those that were there */
export async function deleteSigningKeys(tx: Transaction, kids: readonly string[]): Promise<string[]> {
  const deleted = await tx.query<{ kid: string }>('DELETE FROM signing_keys WHERE kid = ANY ($1) RETURNING kid', [kids]);
  return deleted.map(({ kid }) => kid);
}

/** The one without a successor signs from now on, if it does not yet. @returns its id, if there is one */
export async function signAtOnce(tx: Transaction): Promise<string | undefined> {
  const [key] = await tx.query<{ kid: string }>(
    'UPDATE signing_keys SET signs_from = least(signs_from, now()) WHERE verifies_until IS NULL RETURNING kid',
  );
  return key?.kid;
}

export function deleteEndedSigningKeys(tx: Transaction): Promise<number> {
  return tx.execute('DELETE FROM signing_keys WHERE verifies_until < now()');
}
