import { randomBytes } from 'node:crypto';
import type { Cipher, Encrypted } from '@plant-shop/platform/cipher';
import type { Reader, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';

const keyBytes = 32;

/** Returns a new random secret, in the form that Standard Webhooks 1.0 prescribes for symmetric signatures. */
export const newSecret = (): string => `whsec_${randomBytes(keyBytes).toString('base64')}`;

/** Adds a signing secret. The previous one also signs for `graceSeconds`, until the returned time; older ones end at once. */
export async function addSecret(tx: Transaction, webhookId: string, secret: Encrypted, graceSeconds: number): Promise<Date> {
  await tx.execute(`DELETE FROM webhook_secrets WHERE webhook_id = $1 AND (ends_at <> 'infinity' OR $2 = 0)`, [webhookId, graceSeconds]);
  await tx.execute(`UPDATE webhook_secrets SET ends_at = now() + $2 * interval '1 second' WHERE webhook_id = $1`, [
    webhookId,
    graceSeconds,
  ]);
  const { previousUntil } = onlyRow(
    await tx.query<{ previousUntil: Date }>(
      `INSERT INTO webhook_secrets (webhook_id, key_id, encrypted) VALUES ($1, $2, $3)
       RETURNING now() + $4 * interval '1 second' AS "previousUntil"`,
      [webhookId, secret.keyId, secret.bytes, graceSeconds],
    ),
  );
  return previousUntil;
}

interface SecretRecord extends Encrypted {
  readonly id: number;
  readonly webhookId: string;
}

/** Re-encrypts secrets of former keys with the current key. Returns their number. */
export async function reencryptSecrets(tx: Transaction, cipher: Cipher, limit: number): Promise<number> {
  const former = await tx.query<SecretRecord>(
    `SELECT id, webhook_id AS "webhookId", key_id AS "keyId", encrypted AS bytes FROM webhook_secrets
     WHERE key_id <> $1 AND key_id = ANY($2) LIMIT $3 FOR UPDATE SKIP LOCKED`,
    [cipher.keyId, cipher.formerKeyIds, limit],
  );
  const encrypted = former.map((one) => cipher.encrypt(cipher.decrypt(one.bytes, one.webhookId), one.webhookId));
  await tx.execute(
    `UPDATE webhook_secrets s SET key_id = $1, encrypted = t.encrypted FROM unnest($2::bigint[], $3::bytea[]) AS t (id, encrypted)
     WHERE s.id = t.id`,
    [cipher.keyId, former.map((one) => one.id), encrypted.map(({ bytes }) => bytes)],
  );
  return former.length;
}

export function deleteEndedSecrets(tx: Transaction): Promise<number> {
  return tx.execute('DELETE FROM webhook_secrets WHERE ends_at <= now()');
}

/** Returns the number of secrets that are not encrypted with the current key. */
export async function countOutdatedSecrets(db: Reader, keyId: string): Promise<number> {
  const text = 'SELECT count(*) AS count FROM webhook_secrets WHERE key_id <> $1';
  return onlyRow(await db.query<{ count: number }>(text, [keyId])).count;
}

/** How far the clocks of attempts and of this database may differ. A signature that was not sent misleads less than one that is missing. */
const clockSlackMs = 30_000;

/** Decrypts an endpoint's secrets. Returns a function that gives those which signed at a time and are not deleted, newest first. */
export async function secretsAt(db: Reader, cipher: Cipher, webhookId: string): Promise<(at: Date) => string[]> {
  const rows = await db.query<{ bytes: Buffer; createdAt: Date | null; endsAt: Date | null }>(
    `SELECT encrypted AS bytes, created_at AS "createdAt", nullif(ends_at, 'infinity') AS "endsAt" FROM webhook_secrets WHERE webhook_id = $1 ORDER BY id DESC`,
    [webhookId],
  );
  const secrets = rows.map(({ bytes, createdAt, endsAt }) => ({ secret: cipher.decrypt(bytes, webhookId), from: (createdAt?.getTime() ?? -Infinity) - clockSlackMs, to: (endsAt?.getTime() ?? Infinity) + clockSlackMs }));
  return (at) => secrets.flatMap(({ secret, from, to }) => (from <= at.getTime() && at.getTime() < to ? [secret] : []));
}
