import type { Transaction } from '@plant-shop/platform/postgres/database';

/**
 * Notes that the user is about to be deleted, or takes over from whoever noted it before. The caller holds the user's
 * row.
 * @returns whether this is the first attempt
 */
export async function beginDeletion(
  tx: Transaction,
  userId: string,
  attemptId: string,
  leaseMs: number,
): Promise<boolean> {
  const [earlier] = await tx.query('SELECT 1 FROM user_deletions WHERE user_id = $1', [userId]);
  await tx.execute(
    `INSERT INTO user_deletions (user_id, attempt_id, leased_until)
     VALUES ($1, $2, now() + $3 * interval '1 millisecond')
     ON CONFLICT (user_id) DO UPDATE SET attempt_id = excluded.attempt_id, leased_until = excluded.leased_until`,
    [userId, attemptId, leaseMs],
  );
  return earlier === undefined;
}

/** The user stays. False, and nothing is done, when another attempt has taken over: what it was told may differ. */
export async function dropDeletion(tx: Transaction, attemptId: string): Promise<boolean> {
  return (await tx.execute('DELETE FROM user_deletions WHERE attempt_id = $1', [attemptId])) > 0;
}

/** Leases the deletion that waits longest for somebody to carry it on. */
export async function takeOverDeletion(
  tx: Transaction,
  attemptId: string,
  leaseMs: number,
): Promise<string | undefined> {
  const [taken] = await tx.query<{ userId: string }>(
    `UPDATE user_deletions SET attempt_id = $1, leased_until = now() + $2 * interval '1 millisecond'
     WHERE user_id = (
       SELECT user_id FROM user_deletions WHERE leased_until < now()
       ORDER BY leased_until LIMIT 1 FOR UPDATE SKIP LOCKED)
     RETURNING user_id AS "userId"`,
    [attemptId, leaseMs],
  );
  return taken?.userId;
}
