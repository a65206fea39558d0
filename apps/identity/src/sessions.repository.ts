import { DomainError } from '@plant-shop/contracts/errors';
import type { OpenSession } from '@plant-shop/contracts/identity.sessions';
import type { Reader, Transaction } from '@plant-shop/platform/postgres/database';
import { deletePayloadsOfUser, deletePublicGrantsOfSession } from './grants/payloads.repository.js';
import type { IdleHours } from './options.js';
import { appendRevocations, type RevocationTarget } from './revocations/revocations.js';

/** Sessions per user; another one ends the oldest. The limit allows listing all and ending all in one transaction. */
export const maxSessions = 1_000;

/** What lists and checks read of a row of `sessions`; its other columns are the user, and what a log-in proved (`SessionRow`). */
export interface SessionRecord {
  readonly id: string;
  readonly tokenHash: Buffer;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly lastUsedAt: Date | null;
  readonly userAgent: string | null;
  /** Of the log-in, as users recognise it. Null: not known. */
  readonly network: string | null;
  /** Hash of the provider session that is valid while this session lives. */
  readonly oauthSession: Buffer | null;
}

/** Converts to the client's view. @param own the hash of the caller's session token */
export const toOpenSession = (session: SessionRecord, own: Buffer | undefined): OpenSession => ({
  id: session.id,
  createdAt: session.createdAt.toISOString(),
  expiresAt: session.expiresAt.toISOString(),
  ...(session.lastUsedAt && { lastUsedAt: session.lastUsedAt.toISOString() }),
  ...(session.userAgent !== null && { userAgent: session.userAgent }),
  ...(session.network !== null && { from: session.network }),
  kind: session.oauthSession === null ? 'token' : 'application',
  current: own !== undefined && session.tokenHash.equals(own),
});

export const sessionNotFound = (): DomainError =>
  new DomainError('session-not-found', 'The user has no open session with this id.');

/**
 * SQL: session `s` of user `u` has not expired, and was used lately enough for the user's role. Uses are written up to two minutes late:
 * `lastUsedAt` at most once a minute, and services remember an answer for a minute.
 * @param hours the parameters with `valuesOf`
 */
export const isLive = (hours: readonly [customer: string, staff: string]): string =>
  `s.expires_at > now() AND greatest(s.last_used_at, s.created_at) > now() - (CASE u.role WHEN 'customer' THEN ${hours[0]}::integer ELSE ${hours[1]}::integer END) * interval '1 hour'`;

export const valuesOf = ({ customer, staff }: IdleHours): [number, number] => [customer, staff];

export interface SessionRow {
  readonly id: string;
  readonly tokenHash: Buffer;
  readonly userId: string;
  /** The hash that the password was verified against; undefined for a log-in with a passkey alone. */
  readonly passwordHash: string | undefined;
  readonly ttlHours: number;
  readonly userAgent: string | undefined;
  /** Of the log-in, as users recognise it. Empty: not known. */
  readonly network: string;
  /** What the log-in proved beside or instead of the password: the passkey, which must still be one of the user. */
  readonly passkeyId: string | undefined;
  readonly provedFactor: boolean;
}

/**
 * Opens a session, unless the user was deleted, or the password changed or the passkey was removed since it was verified: the change ends only the
 * sessions that it sees, so this one would survive. The row lock serialises both, and logins of one user: each sees the sessions before it.
 * @returns undefined when no session was opened
 */
export async function insertSession(tx: Transaction, session: SessionRow): Promise<{ expiresAt: Date } | undefined> {
  const [row] = await tx.query<{ expiresAt: Date }>(
    {
      name: 'insert-session',
      text: `
        INSERT INTO sessions (id, user_id, token_hash, expires_at, user_agent, network, proved_factor)
        SELECT $1::uuid, user_id, $2::bytea, now() + $5 * interval '1 hour', $6, nullif($7, ''), $8 FROM users
        WHERE user_id = $3 AND ($4::text IS NULL OR password_hash = $4)
          AND ($9::uuid IS NULL OR EXISTS (SELECT FROM factors f WHERE f.id = $9 AND f.user_id = $3 AND f.locked_at IS NULL))
        FOR NO KEY UPDATE
        RETURNING expires_at AS "expiresAt"`,
    },
    [
      session.id,
      session.tokenHash,
      session.userId,
      session.passwordHash ?? null,
      session.ttlHours,
      session.userAgent ?? null,
      session.network,
      session.provedFactor,
      session.passkeyId ?? null,
    ],
  );
  return row;
}

/** Devices that are remembered of a user; another one replaces the one not seen for longest. */
const maxDevices = 20;

/**
 * Remembers a device from which a user has logged in. The caller must hold the user's row.
 * @returns whether it is new, while others are known
 */
export async function rememberDevice(tx: Transaction, userId: string, device: Buffer): Promise<boolean> {
  const [written] = await tx.query<{ isNew: boolean; hasOthers: boolean }>(
    {
      name: 'remember-device',
      text: `INSERT INTO known_devices AS d (user_id, device) VALUES ($1, $2)
             ON CONFLICT (user_id, device) DO UPDATE SET seen_at = now() WHERE d.seen_at < now() - interval '1 day'
             RETURNING xmax = 0 AS "isNew", EXISTS (SELECT FROM known_devices o WHERE o.user_id = $1) AS "hasOthers"`,
    },
    [userId, device],
  );
  if (!written?.isNew || !written.hasOthers) return false;
  await tx.execute('DELETE FROM known_devices WHERE user_id = $1 AND device IN (SELECT device FROM known_devices WHERE user_id = $1 ORDER BY seen_at DESC OFFSET $2)', [userId, maxDevices]);
  return true;
}

/** Ends all but `keep` sessions of a user: the one just opened, whatever the clock said, and the newest. @returns the ids of the ended sessions */
export async function endOldestSessions(tx: Transaction, userId: string, opened: string, keep: number): Promise<string[]> {
  const ended = await tx.query<{ id: string }>(
    `DELETE FROM sessions WHERE id IN (
       SELECT id FROM sessions WHERE user_id = $1 ORDER BY id = $2 DESC, created_at DESC, id OFFSET $3)
     RETURNING id`,
    [userId, opened, keep],
  );
  return ended.map(({ id }) => id);
}

/** Returns the live sessions of a user, newest first. */
export function listSessions(db: Reader, userId: string, idle: IdleHours): Promise<SessionRecord[]> {
  return db.query<SessionRecord>(
    `SELECT s.id, s.token_hash AS "tokenHash", s.created_at AS "createdAt", s.expires_at AS "expiresAt",
       s.last_used_at AS "lastUsedAt", s.user_agent AS "userAgent", s.network, s.oauth_session AS "oauthSession"
     FROM sessions s JOIN users u USING (user_id) WHERE user_id = $1 AND ${isLive(['$2', '$3'])} ORDER BY s.created_at DESC, s.id`,
    [userId, ...valuesOf(idle)],
  );
}

/**
 * Ends a session, then the grants that it gave to public clients, which run on the device that it belongs to. Others run on servers, and keep theirs.
 * @returns revocations to append at the end of the transaction; none when the user has no session with this id
 */
export async function endSessionOf(tx: Transaction, userId: string, id: string): Promise<RevocationTarget[]> {
  const text = 'DELETE FROM sessions WHERE user_id = $1 AND id = $2 RETURNING oauth_session AS "oauthSession"';
  const [ended] = await tx.query<{ oauthSession: Buffer | null }>(text, [userId, id]);
  if (!ended) return [];
  const grants = ended.oauthSession ? await deletePublicGrantsOfSession(tx, ended.oauthSession) : [];
  return [{ kind: 'session', id }, ...grants.map((grant) => ({ kind: 'grant', id: grant }) as const)];
}

/** Writes the last use, at most once a minute per session over all replicas. */
export function touchSessions(tx: Transaction, ids: readonly string[]): Promise<number> {
  return tx.execute(
    `UPDATE sessions SET last_used_at = now()
     WHERE id = ANY($1) AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')`,
    [ids],
  );
}

/**
 * Finds the live session of a browser login and writes its last use. The first call finds it by `openedId` and binds it to
 * the provider's session; later calls find it by that. Of two concurrent logins in one browser, the first is bound.
 * @returns its id, if there is such a session
 */
export async function touchBrowserSession(
  tx: Transaction,
  session: { readonly userId: string; readonly oauthSession: Buffer; readonly openedId: string | undefined },
  idle: IdleHours,
): Promise<string | undefined> {
  const [used] = await tx.query<{ id: string }>(
    `UPDATE sessions SET oauth_session = $2, last_used_at = now()
     WHERE id = (
       SELECT s.id FROM sessions s JOIN users u USING (user_id)
       WHERE user_id = $1 AND ${isLive(['$4', '$5'])} AND (s.oauth_session = $2 OR (s.id = $3 AND s.oauth_session IS NULL))
       ORDER BY s.oauth_session NULLS LAST LIMIT 1)
     RETURNING id`,
    [session.userId, session.oauthSession, session.openedId ?? null, ...valuesOf(idle)],
  );
  return used?.id;
}

/** How long a login counts as recent. */
const recent = `interval '10 minutes'`;

/** A session, by how its user proved who it is. */
export interface ProvenSession {
  readonly id: string;
  /** It began, or its user proved again who it is, in the last ten minutes. */
  readonly isRecent: boolean;
  readonly provedFactor: boolean;
}

const proven = `id, greatest(created_at, confirmed_at) > now() - ${recent} AS "isRecent", proved_factor AS "provedFactor"`;

export async function findProvenSession(db: Reader, userId: string, id: string): Promise<ProvenSession | undefined> {
  return (await db.query<ProvenSession>({ name: 'proven-session', text: `SELECT ${proven} FROM sessions WHERE id = $1 AND user_id = $2` }, [id, userId]))[0];
}

/** Finds the live session of a browser login. */
export async function findBrowserSession(db: Reader, userId: string, oauthSession: Buffer): Promise<ProvenSession | undefined> {
  const text = `SELECT ${proven} FROM sessions WHERE user_id = $1 AND oauth_session = $2 AND expires_at > now()`;
  return (await db.query<ProvenSession>({ name: 'proven-browser-session', text }, [userId, oauthSession]))[0];
}

/** Writes that the user of a session has proven again who it is. @param byFactor with a second factor */
export async function confirmSession(tx: Transaction, id: string, byFactor: boolean): Promise<void> {
  await tx.execute('UPDATE sessions SET confirmed_at = now(), proved_factor = proved_factor OR $2 WHERE id = $1', [id, byFactor]);
}

/** Returns whether the session is live, and keeps it from being ended until the transaction ends. */
export async function lockBrowserSession(tx: Transaction, userId: string, oauthSession: Buffer): Promise<boolean> {
  const held = await tx.query(
    'SELECT 1 FROM sessions WHERE user_id = $1 AND oauth_session = $2 AND expires_at > now() FOR SHARE',
    [userId, oauthSession],
  );
  return held.length > 0;
}

/** @returns the id of the ended session, undefined when there was none */
export async function endBrowserSession(tx: Transaction, oauthSession: Buffer): Promise<string | undefined> {
  const [ended] = await tx.query<{ id: string }>('DELETE FROM sessions WHERE oauth_session = $1 RETURNING id', [
    oauthSession,
  ]);
  return ended?.id;
}

/** @returns the id of the ended session, undefined when there was none */
export async function endSession(tx: Transaction, tokenHash: Buffer): Promise<string | undefined> {
  const [ended] = await tx.query<{ id: string }>('DELETE FROM sessions WHERE token_hash = $1 RETURNING id', [
    tokenHash,
  ]);
  return ended?.id;
}

/** Deletes at most this many at once: each is logged, under a lock that others wait for. */
const maxIdle = 1_000;

/**
 * Ends sessions that their users did not use for so long. Unlike at the end of their lifetime, services may still remember them, so the caller revokes them.
 * @param ttlHours the lifetime of a session: within it, sessions cannot be idle for longer
 * @returns their ids
 */
export async function endIdleSessions(tx: Transaction, idle: IdleHours, ttlHours: number): Promise<string[]> {
  const ended: string[] = [];
  for (const { roles, hours } of [{ roles: ['staff', 'admin'], hours: idle.staff }, { roles: ['customer'], hours: idle.customer }]) {
    if (hours >= ttlHours) continue;
    const rows = await tx.query<{ id: string }>(
      `DELETE FROM sessions WHERE id IN (
         SELECT s.id FROM users u JOIN sessions s USING (user_id)
         WHERE u.role = ANY ($1) AND greatest(s.last_used_at, s.created_at) <= now() - $2 * interval '1 hour' LIMIT ${maxIdle} FOR UPDATE OF s SKIP LOCKED)
       RETURNING id`,
      [roles, hours],
    );
    ended.push(...rows.map(({ id }) => id));
  }
  await appendRevocations(tx, ended.map((id) => ({ kind: 'session', id })));
  return ended;
}

/** Ends all sessions of a user except one. @returns the ids of the ended sessions */
async function endSessionsOf(
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

/** Deletes expired sessions. Followers know when a session expires, so no revocation is needed. */
export function deleteExpiredSessions(tx: Transaction): Promise<number> {
  return tx.execute('DELETE FROM sessions WHERE expires_at < now()');
}

/**
 * Ends all sessions of a user except one, then all grants to applications. `BrowserSessions.noteGrant` relies on this
 * order.
 * @returns revocations to append at the end of the transaction
 */
export async function endSessionsAndGrants(
  tx: Transaction,
  userId: string,
  keptTokenHash: Buffer | undefined,
): Promise<RevocationTarget[]> {
  const sessions = await endSessionsOf(tx, userId, keptTokenHash);
  const grants = await deletePayloadsOfUser(tx, userId);
  return [
    ...sessions.map((id) => ({ kind: 'session', id }) as const),
    ...grants.map((id) => ({ kind: 'grant', id }) as const),
  ];
}
