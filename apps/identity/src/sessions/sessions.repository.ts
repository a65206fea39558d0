import type { Transaction } from '@plant-shop/platform/postgres/database';
import type { SessionRecord } from './open-session.js';

type Reader = Pick<Transaction, 'query'>;

export interface NewSession {
  readonly id: string;
  readonly tokenHash: Buffer;
  readonly userId: string;
  /** The hash that the password was checked against. */
  readonly passwordHash: string;
  readonly ttlHours: number;
  readonly userAgent: string | undefined;
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
        INSERT INTO sessions (id, user_id, token_hash, expires_at, user_agent)
        SELECT $1::uuid, user_id, $2::bytea, now() + $5 * interval '1 hour', $6 FROM users
        WHERE user_id = $3 AND password_hash = $4 FOR SHARE
        RETURNING expires_at AS "expiresAt"`,
    },
    [
      session.id,
      session.tokenHash,
      session.userId,
      session.passwordHash,
      session.ttlHours,
      session.userAgent ?? null,
    ],
  );
  return row;
}

/** Ends a user's sessions but the newest ones. @returns their ids */
export async function endOldestSessions(tx: Transaction, userId: string, kept: number): Promise<string[]> {
  const ended = await tx.query<{ id: string }>(
    `DELETE FROM sessions WHERE id IN (
       SELECT id FROM sessions WHERE user_id = $1 ORDER BY created_at DESC, id OFFSET $2)
     RETURNING id`,
    [userId, kept],
  );
  return ended.map(({ id }) => id);
}

/** Those that are live, newest first. */
export function listSessions(db: Reader, userId: string): Promise<SessionRecord[]> {
  return db.query<SessionRecord>(
    `SELECT id, token_hash AS "tokenHash", created_at AS "createdAt", expires_at AS "expiresAt",
       last_used_at AS "lastUsedAt", user_agent AS "userAgent", oauth_session AS "oauthSession"
     FROM sessions WHERE user_id = $1 AND expires_at > now() ORDER BY created_at DESC, id`,
    [userId],
  );
}

/** @returns whether the user had it */
export async function endSessionOf(tx: Transaction, userId: string, id: string): Promise<boolean> {
  return (await tx.execute('DELETE FROM sessions WHERE user_id = $1 AND id = $2', [userId, id])) > 0;
}

/** At most once a minute for a session, whichever replicas it was seen by. */
export function touchSessions(tx: Transaction, ids: readonly string[]): Promise<number> {
  return tx.execute(
    `UPDATE sessions SET last_used_at = now()
     WHERE id = ANY($1) AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')`,
    [ids],
  );
}

/**
 * Finds the live session that a login in a browser opened, and notes that it was used. The first time it is known by its
 * id, from the login itself, and bound to the OAuth pages' session; from then on by that. Of two logins at the same
 * moment in one browser the first is bound.
 */
export async function useBrowserSession(
  tx: Transaction,
  login: { readonly userId: string; readonly oauthSession: Buffer; readonly openedId: string | undefined },
): Promise<boolean> {
  const used = await tx.execute(
    `UPDATE sessions SET oauth_session = $2, last_used_at = now()
     WHERE id = (
       SELECT id FROM sessions
       WHERE user_id = $1 AND expires_at > now() AND (oauth_session = $2 OR (id = $3 AND oauth_session IS NULL))
       ORDER BY oauth_session NULLS LAST LIMIT 1)`,
    [login.userId, login.oauthSession, login.openedId ?? null],
  );
  return used > 0;
}

/** Whether it lives; if so, it does until the transaction ends. */
export async function holdBrowserSession(tx: Transaction, userId: string, oauthSession: Buffer): Promise<boolean> {
  const held = await tx.query(
    'SELECT 1 FROM sessions WHERE user_id = $1 AND oauth_session = $2 AND expires_at > now() FOR SHARE',
    [userId, oauthSession],
  );
  return held.length > 0;
}

/** @returns its id when it was there */
export async function endBrowserSession(tx: Transaction, oauthSession: Buffer): Promise<string | undefined> {
  const [ended] = await tx.query<{ id: string }>('DELETE FROM sessions WHERE oauth_session = $1 RETURNING id', [
    oauthSession,
  ]);
  return ended?.id;
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
