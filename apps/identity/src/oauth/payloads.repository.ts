import type { Transaction } from '@plant-shop/platform/postgres/database';

type Reader = Pick<Transaction, 'query'>;

export interface PayloadRow {
  readonly idHash: Buffer;
  readonly payload: Buffer;
  readonly consumedAt: Date | null;
}

export interface PayloadToKeep {
  readonly model: string;
  readonly idHash: Buffer;
  readonly payload: Buffer;
  readonly grantHash: Buffer | undefined;
  readonly uidHash: Buffer | undefined;
  readonly userCodeHash: Buffer | undefined;
  readonly expiresInSeconds: number | undefined;
}

export async function upsertPayload(tx: Transaction, one: PayloadToKeep): Promise<void> {
  await tx.execute(
    `INSERT INTO oauth_payloads (model, id_hash, payload, grant_hash, uid_hash, user_code_hash, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, now() + $7::double precision * interval '1 second')
     ON CONFLICT (model, id_hash) DO UPDATE SET
       payload = excluded.payload, grant_hash = excluded.grant_hash, uid_hash = excluded.uid_hash,
       user_code_hash = excluded.user_code_hash, expires_at = excluded.expires_at`,
    [
      one.model,
      one.idHash,
      one.payload,
      one.grantHash ?? null,
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

export async function consumePayload(tx: Transaction, model: string, idHash: Buffer): Promise<void> {
  await tx.execute('UPDATE oauth_payloads SET consumed_at = now() WHERE model = $1 AND id_hash = $2', [model, idHash]);
}

export async function deletePayload(tx: Transaction, model: string, idHash: Buffer): Promise<void> {
  await tx.execute('DELETE FROM oauth_payloads WHERE model = $1 AND id_hash = $2', [model, idHash]);
}

export async function deletePayloadsOfGrant(tx: Transaction, grantHash: Buffer): Promise<void> {
  await tx.execute('DELETE FROM oauth_payloads WHERE grant_hash = $1', [grantHash]);
}

export function deleteExpiredPayloads(tx: Transaction): Promise<number> {
  return tx.execute('DELETE FROM oauth_payloads WHERE expires_at < now()');
}
