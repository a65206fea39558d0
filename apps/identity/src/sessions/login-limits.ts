import { isIPv4, isIPv6 } from 'node:net';
import { DomainError } from '@plant-shop/contracts/errors';
import { sha256 } from '../credentials/secret.js';
import { usernameKey } from '../users/user.js';

export interface LoginLimits {
  /** Failures of one name in a window. */
  readonly perUser: number;
  /** Failures from one network in a window. */
  readonly perNetwork: number;
}

/** What failures are counted by. */
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

/** An IPv4 address, the /64 of an IPv6 address (its other half is the client's to choose), or the text as it is. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined && isIPv4(mapped)) return mapped;
  const [plain = ''] = address.split('%', 1);
  if (!isIPv6(plain)) return address;
  const [before = '', after] = plain.split('::', 2);
  const groups = before === '' ? [] : before.split(':');
  const behind = after === undefined || after === '' ? [] : after.split(':');
  const all = [...groups, ...Array<string>(Math.max(0, 8 - groups.length - behind.length)).fill('0'), ...behind];
  return `${all
    .slice(0, 4)
    .map((group) => parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}

export function tooManyLogins(retryAfterSeconds: number): DomainError {
  return new DomainError('too-many-logins', 'Too many logins failed. Wait before the next one.', {
    retryAfter: retryAfterSeconds,
  });
}
