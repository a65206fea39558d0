import type { Transaction } from '@plant-shop/platform/postgres/database';
import { type Attempt, IntentTable } from '@plant-shop/platform/patterns/saga/intent-table';

/** An attempt to delete a user; its key is the user's UUID. */
export type UserDeletion = Attempt<string>;

export const userDeletions = new IntentTable<string, Omit<UserDeletion, 'isFirst'>>({
  table: 'user_deletions',
  owners: 'users',
  key: 'user_id',
  leasedUntil: 'leased_until',
  attempt: 'attempt',
  attempts: 'deletion_attempts',
  columns: 'user_deletions.user_id AS key, attempt',
});

/**
 * Deletes the intent: the user stays.
 * @returns false, without an effect, when another attempt has taken over, since the store may have answered it differently
 */
export async function withdrawDeletion(tx: Transaction, { key, attempt }: UserDeletion): Promise<boolean> {
  return (await tx.execute('DELETE FROM user_deletions WHERE user_id = $1 AND attempt = $2', [key, attempt])) > 0;
}

/** Deletes the OAuth clients that the user owns, with their tokens and grants. @returns their ids */
export async function deleteClientsOf(tx: Transaction, userId: string): Promise<string[]> {
  const deleted = await tx.query<{ clientId: string }>(
    'DELETE FROM oauth_clients WHERE user_id = $1 RETURNING client_id AS "clientId"',
    [userId],
  );
  return deleted.map(({ clientId }) => clientId);
}
