import { operationsOf } from '@plant-shop/platform/rpc/operation';
import { IsOptional } from 'class-validator';
import type { ErrorCode } from './errors.js';
import { Pattern, Uuid } from './fields.js';
import { UserRequest } from './identity.user-request.js';

// Sessions that a user has open, for the user in person and with `write:users`.

export const Digest = (): PropertyDecorator =>
  Pattern(/^[\w-]{43}$/, 'must be a SHA-256 in base64url', { pattern: '^[\\w-]{43}$' });

export class ListSessions extends UserRequest {
  /** SHA-256 of the session token that the caller showed, if any: the one that is `current`. */
  @IsOptional()
  @Digest()
  ownSession?: string;
}

export class EndSession extends UserRequest {
  @Uuid()
  sessionId: string;
}

/** Logs the user out everywhere: all sessions end, the caller's own as well, and what was granted to applications. */
export class EndSessions extends UserRequest {}

export interface OpenSession {
  readonly id: string;
  readonly createdAt: string;
  readonly expiresAt: string;
  /** At most a minute old. */
  readonly lastUsedAt?: string;
  /** What it was begun with, as that said. */
  readonly userAgent?: string;
  /** `application`: in a browser, on the way to an application that asked for access. */
  readonly kind: 'token' | 'application';
  /** The one that this request shows. */
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
