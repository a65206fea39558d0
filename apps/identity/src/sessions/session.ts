import { DomainError } from '@plant-shop/contracts/errors';
import type { OpenSession } from '@plant-shop/contracts/identity.sessions';

/** Sessions per user; another one ends the oldest. The limit allows listing all and ending all in one transaction. */
export const maxSessions = 1_000;

/** A row of the table `sessions`. */
export interface SessionRecord {
  readonly id: string;
  readonly tokenHash: Buffer;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly lastUsedAt: Date | null;
  readonly userAgent: string | null;
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
  kind: session.oauthSession === null ? 'token' : 'application',
  current: own !== undefined && session.tokenHash.equals(own),
});

export const sessionNotFound = (): DomainError =>
  new DomainError('session-not-found', 'The user has no open session with this id.');
