import { operationsOf } from '@plant-shop/platform/rpc/operation';
import { IsOptional } from 'class-validator';
import type { ErrorCode } from './errors.js';
import { Pattern, Uuid } from './fields.js';
import { UserRequest } from './identity.user-request.js';

// Open sessions of a user. Callers: the user, or anyone with `write:users`.

export const Digest = (): PropertyDecorator =>
  Pattern(/^[\w-]{43}$/, 'must be a SHA-256 in base64url', { pattern: '^[\\w-]{43}$' });

export class ListSessions extends UserRequest {
  /** SHA-256 of the caller's session token, if any: marks the `current` session. */
  @IsOptional()
  @Digest()
  ownSession?: string;
}

export class EndSession extends UserRequest {
  @Uuid()
  sessionId: string;
}

/** Ends all sessions of the user, including the caller's own, and all grants to applications. */
export class EndSessions extends UserRequest {}

export interface OpenSession {
  readonly id: string;
  readonly createdAt: string;
  readonly expiresAt: string;
  /** Accurate to a minute. */
  readonly lastUsedAt?: string;
  /** The User-Agent of the login request. */
  readonly userAgent?: string;
  /** `application`: a browser session, for granting access to applications. */
  readonly kind: 'token' | 'application';
  /** Whether this is the session of the request. */
  readonly current: boolean;
}

const { read, write } = operationsOf<ErrorCode>('identity');

export const sessionOperations = {
  listSessions: read<OpenSession[]>()('listSessions', ListSessions, { errors: ['user-not-found', 'forbidden'] }),
  endSession: write<{ ended: string }>()('endSession', EndSession, {
    errors: ['user-not-found', 'forbidden', 'session-not-found'],
  }),
  endSessions: write<{ ended: number }>()('endSessions', EndSessions, { errors: ['user-not-found', 'forbidden'] }),
};
