import type { Transaction } from '@plant-shop/platform/postgres/database';

export interface NewSession {
  readonly id: string;
  readonly tokenHash: Buffer;
  readonly userId: string;
  /** The hash that the password was checked against. */
  readonly passwordHash: string;
  readonly ttlHours: number;
}

/**
 * Opens a session, unless the user is gone or has another password since it was checked: whoever changes it ends the
 * sessions that are there, and this one would slip through. The lock makes both see each other.
 */
export async function insertSession(tx: Transaction, session: NewSession): Promise<{ expiresAt: Date } | undefined> {
  const [row] = await tx.query<{ expiresAt: Date }>(
    {
      name: 'insert-session',
      text: `
        INSERT INTO sessions (id, user_id, token_hash, expires_at)
        SELECT $1::uuid, user_id, $2::bytea, now() + $5 * interval '1 hour' FROM users
        WHERE user_id = $3 AND password_hash = $4 FOR SHARE
        RETURNING expires_at AS "expiresAt"`,
    },
    [session.id, session.tokenHash, session.userId, session.passwordHash, session.ttlHours],
  );
  return row;
}

/** @returns its id when it was there */
export async function endSession(tx: Transaction, tokenHash: Buffer): Promise<string | undefined> {
  const [ended] = await tx.query<{ id: string }>('DELETE FROM sessions WHERE token_hash = $1 RETURNING id', [
    tokenHash,
  ]);
  return ended?.id;
}

/** Ends a user's sessions but one. @returns their ids */
export async function endSessionsOf(
  tx: Transaction,
  userId: string,
  keptTokenHash: Buffer | undefined,
): Promise<string[]> {
  const ended = await tx.query<{ id: string }>(
    'DELETE FROM sessions WHERE user_id = $1 AND token_hash IS DISTINCT FROM $2 RETURNING id',
    [userId, keptTokenHash ?? null],
  );
  return ended.map(({ id }) => id);
}

/** Followers know when a session expires: no revocation is needed. */
export function deleteExpiredSessions(tx: Transaction): Promise<number> {
  return tx.execute('DELETE FROM sessions WHERE expires_at < now()');
}
