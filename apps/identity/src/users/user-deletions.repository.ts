import type { Actor } from '@plant-shop/platform/audit/audit-log';
import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';

type Reader = Pick<Transaction, 'query'>;

/** One attempt at a deletion. Numbers only go up: the latest decides, here and in the store. */
export interface Attempt {
  readonly userId: string;
  readonly attempt: number;
}

/**
 * Notes that the user is about to be deleted, or takes over from whoever noted it before. The caller holds the user's
 * row.
 * @returns also whether nobody had noted it before
 */
export async function beginDeletion(
  tx: Transaction,
  userId: string,
  askedBy: Actor,
  leaseMs: number,
): Promise<Attempt & { readonly isFirst: boolean }> {
  const [earlier] = await tx.query('SELECT 1 FROM user_deletions WHERE user_id = $1', [userId]);
  const begun = await tx.query<{ attempt: number }>(
    // The number of a row that is there is drawn while it is locked: what took it before has a smaller one.
    `INSERT INTO user_deletions (user_id, attempt, asked_by, leased_until)
     VALUES ($1, nextval('deletion_attempts'), $2, now() + $3 * interval '1 millisecond')
     ON CONFLICT (user_id) DO UPDATE
       SET attempt = nextval('deletion_attempts'), asked_by = excluded.asked_by, leased_until = excluded.leased_until
     RETURNING attempt`,
    [userId, JSON.stringify(askedBy), leaseMs],
  );
  return { userId, attempt: onlyRow(begun).attempt, isFirst: earlier === undefined };
}

/** Who asked last for the user to be deleted; the row goes with the user, so it is read before. */
export async function findWhoAsked(tx: Transaction, userId: string): Promise<Actor | undefined> {
  const [deletion] = await tx.query<{ askedBy: Actor | null }>(
    'SELECT asked_by AS "askedBy" FROM user_deletions WHERE user_id = $1',
    [userId],
  );
  return deletion?.askedBy ?? undefined;
}

/** The user stays. False, and nothing is done, when another attempt has taken over: what it was told may differ. */
export async function dropDeletion(tx: Transaction, { userId, attempt }: Attempt): Promise<boolean> {
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

/** Leases the deletion that waits longest for somebody to carry it on. */
export async function takeOverDeletion(db: Reader, leaseMs: number): Promise<Attempt | undefined> {
  const [taken] = await db.query<Attempt>(takeOver, [leaseMs]);
  return taken;
}

/** @returns ids of the OAuth clients that the user owned */
export async function deleteClientsOf(tx: Transaction, userId: string): Promise<string[]> {
  const deleted = await tx.query<{ clientId: string }>(
    'DELETE FROM oauth_clients WHERE user_id = $1 RETURNING client_id AS "clientId"',
    [userId],
  );
  return deleted.map(({ clientId }) => clientId);
}
