import { DomainError } from '@plant-shop/contracts/errors';
import { networkOf } from '@plant-shop/platform/network';
import { sha256 } from '../credentials/secret.js';
import { usernameKey } from '../users/user.js';

export interface LoginLimits {
  /** Maximum failures per name in a window. */
  readonly perUser: number;
  /** Maximum failures per network in a window. */
  readonly perNetwork: number;
}

/** A name or network whose failures are counted. */
export interface Subject {
  readonly hash: Buffer;
  readonly limit: number;
}

export const subjectOfUser = (username: string, limits: LoginLimits): Subject => ({
  hash: sha256(`user:${usernameKey(username)}`),
  limit: limits.perUser,
});

export const subjectOfAddress = (address: string, limits: LoginLimits): Subject => ({
  hash: sha256(`network:${networkOf(address)}`),
  limit: limits.perNetwork,
});

export function tooManyLogins(retryAfterSeconds: number): DomainError {
  return new DomainError('too-many-logins', 'Too many failed logins. Wait before you try again.', {
    retryAfter: retryAfterSeconds,
  });
}
