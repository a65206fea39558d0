import type { Permission, Role } from '@plant-shop/contracts/permissions';
import type { Reader, Statement } from '@plant-shop/platform/postgres/database';
import type { IdleHours } from '../options.js';
import { isLive, valuesOf } from '../sessions.repository.js';

// Each query is one statement, so the credential, its user and the position of the revocation log come from one snapshot.
// A follower that reads the log from that position on sees every revocation that the snapshot does not include.

export interface LiveSession {
  readonly id: string;
  readonly userId: string;
  readonly role: Role;
  readonly expiresAt: Date;
  readonly isUseStale: boolean;
  readonly position: number;
}

const liveSession: Statement = {
  name: 'live-session',
  text: `
    SELECT s.id, s.user_id AS "userId", u.role, s.expires_at AS "expiresAt", head.position,
      s.last_used_at IS NULL OR s.last_used_at < now() - interval '1 minute' AS "isUseStale"
    FROM sessions s JOIN users u USING (user_id), revocation_head head
    WHERE s.token_hash = $1 AND ${isLive(['$2', '$3'])}`,
};

export async function findLiveSession(db: Reader, tokenHash: Buffer, idle: IdleHours): Promise<LiveSession | undefined> {
  return (await db.query<LiveSession>(liveSession, [tokenHash, ...valuesOf(idle)]))[0];
}

export interface LiveKey {
  readonly id: string;
  readonly userId: string;
  readonly role: Role;
  readonly permissions: readonly Permission[];
  readonly expiresAt: Date | null;
  readonly isUseStale: boolean;
  readonly position: number;
}

const liveKey: Statement = {
  name: 'live-key',
  text: `
    SELECT k.id, k.user_id AS "userId", u.role, k.permissions, k.expires_at AS "expiresAt", head.position,
      k.last_used_at IS NULL OR k.last_used_at < now() - interval '1 minute' AS "isUseStale"
    FROM api_keys k JOIN users u USING (user_id), revocation_head head
    WHERE k.key_hash = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())`,
};

export async function findLiveKey(db: Reader, keyHash: Buffer): Promise<LiveKey | undefined> {
  return (await db.query<LiveKey>(liveKey, [keyHash]))[0];
}

const roleOfUser: Statement = {
  name: 'role-of-user',
  text: 'SELECT u.role, head.position FROM users u, revocation_head head WHERE u.user_id = $1',
};

export async function findRole(db: Reader, userId: string): Promise<{ role: Role; position: number } | undefined> {
  return (await db.query<{ role: Role; position: number }>(roleOfUser, [userId]))[0];
}
