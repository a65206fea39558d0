import type { Actor } from '@plant-shop/platform/audit/audit-log';
import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';

type Reader = Pick<Transaction, 'query'>;

/** One attempt to delete a user. Attempt numbers only increase; the latest decides, here and in the store. */
export interface DeletionAttempt {
  readonly userId: string;
  readonly attempt: number;
}

/**
 * Records the intent to delete a user, or takes over a recorded one. The caller must hold the user's row.
 * @returns the attempt, and whether no intent had been recorded before
 */
export async function beginDeletion(
  tx: Transaction,
  userId: string,
  requester: Actor,
  leaseMs: number,
): Promise<DeletionAttempt & { readonly isFirst: boolean }> {
  const [earlier] = await tx.query('SELECT 1 FROM user_deletions WHERE user_id = $1', [userId]);
  const rows = await tx.query<{ attempt: number }>(
    // On conflict, the number is drawn while the row is locked, so every earlier attempt has a smaller one.
    `INSERT INTO user_deletions (user_id, attempt, asked_by, leased_until)
     VALUES ($1, nextval('deletion_attempts'), $2, now() + $3 * interval '1 millisecond')
     ON CONFLICT (user_id) DO UPDATE
       SET attempt = nextval('deletion_attempts'), asked_by = excluded.asked_by, leased_until = excluded.leased_until
     RETURNING attempt`,
    [userId, JSON.stringify(requester), leaseMs],
  );
  return { userId, attempt: onlyRow(rows).attempt, isFirst: earlier === undefined };
}

/** Returns who last requested the deletion. Read it before the user is deleted: the row is deleted with the user. */
export async function findRequester(tx: Transaction, userId: string): Promise<Actor | undefined> {
  const [deletion] = await tx.query<{ askedBy: Actor | null }>(
    'SELECT asked_by AS "askedBy" FROM user_deletions WHERE user_id = $1',
    [userId],
  );
  return deletion?.askedBy ?? undefined;
}

/**
 * Drops the intent: the user stays.
 * @returns false, without an effect, when another attempt has taken over, since the store may have answered it differently
 */
export async function dropDeletion(tx: Transaction, { userId, attempt }: DeletionAttempt): Promise<boolean> {
  const dropped = await tx.execute('DELETE FROM user_deletions WHERE user_id = $1 AND attempt = $2', [userId, attempt]);
  return dropped > 0;
}

const takeOver: Statement = {
  name: 'take-over-deletion',
  text: `UPDATE user_deletions
         SET attempt = nextval('deletion_attempts'), leased_until = now() + $1 * interval '1 millisecond'
         WHERE user_id = (
           SELECT user_id FROM user_deletions WHERE leased_until < now()
           ORDER BY leased_until LIMIT 1 FOR UPDATE SKIP LOCKED)
         RETURNING user_id AS "userId", attempt`,
};

/** Leases the deletion whose lease expired first. */
export async function takeOverDeletion(db: Reader, leaseMs: number): Promise<DeletionAttempt | undefined> {
  const [attempt] = await db.query<DeletionAttempt>(takeOver, [leaseMs]);
  return attempt;
}

/** Deletes the OAuth clients that the user owns. @returns their ids */
export async function deleteClientsOf(tx: Transaction, userId: string): Promise<string[]> {
  const deleted = await tx.query<{ clientId: string }>(
    'DELETE FROM oauth_clients WHERE user_id = $1 RETURNING client_id AS "clientId"',
    [userId],
  );
  return deleted.map(({ clientId }) => clientId);
}
