import { DomainError } from '@plant-shop/contracts/errors';
import type { OpenSession } from '@plant-shop/contracts/identity.sessions';

/** Of one user, so that they can be listed whole and ended at once: with one more the oldest ends. */
export const maxSessions = 1_000;

/** A session as the table keeps it. */
export interface SessionRecord {
  readonly id: string;
  readonly tokenHash: Buffer;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly lastUsedAt: Date | null;
  readonly userAgent: string | null;
  /** Of the OAuth pages' session that counts while this one lives. */
  readonly oauthSession: Buffer | null;
}

/** The session as its user sees it. @param own the token hash that the caller showed */
export const toOpenSession = (session: SessionRecord, own: Buffer | undefined): OpenSession => ({
  id: session.id,
  createdAt: session.createdAt.toISOString(),
  expiresAt: session.expiresAt.toISOString(),
  ...(session.lastUsedAt && { lastUsedAt: session.lastUsedAt.toISOString() }),
  ...(session.userAgent !== null && { userAgent: session.userAgent }),
  kind: session.oauthSession === null ? 'token' : 'application',
  current: own !== undefined && session.tokenHash.equals(own),
});

export const sessionNotFound = (): DomainError =>
  new DomainError('session-not-found', 'The user has no open session with this id.');
