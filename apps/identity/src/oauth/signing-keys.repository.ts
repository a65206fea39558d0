import type { Transaction } from '@plant-shop/platform/postgres/database';
import type { JWK } from 'jose';

type Reader = Pick<Transaction, 'query'>;

export interface SigningKeyRecord {
  readonly kid: string;
  readonly publicJwk: JWK;
  readonly encryptedPrivateJwk: Buffer;
}

/** Replicas that start at the same time wait for each other here, and all but the first then find its key. */
export async function lockSigningKeys(tx: Transaction): Promise<void> {
  await tx.execute('LOCK TABLE signing_keys IN SHARE ROW EXCLUSIVE MODE');
}

/** Newest first: the first one signs, all of them verify. */
export function listSigningKeys(db: Reader): Promise<SigningKeyRecord[]> {
  return db.query<SigningKeyRecord>(
    `SELECT kid, public_jwk AS "publicJwk", private_jwk AS "encryptedPrivateJwk" FROM signing_keys
     ORDER BY created_at DESC, kid`,
  );
}

export async function insertSigningKey(tx: Transaction, key: SigningKeyRecord): Promise<void> {
  await tx.execute('INSERT INTO signing_keys (kid, public_jwk, private_jwk) VALUES ($1, $2, $3)', [
    key.kid,
    JSON.stringify(key.publicJwk),
    key.encryptedPrivateJwk,
  ]);
}
