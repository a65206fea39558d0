import { DomainError } from '@plant-shop/contracts/errors';
import type { NewApiKey } from '@plant-shop/contracts/identity.api-keys';
import { type Permission, permissionsOfRole, permits, readingOrders, type Role } from '@plant-shop/contracts/permissions';
import { invalidInput } from '@plant-shop/platform/errors';
import type { Principal } from '@plant-shop/platform/rpc/context';
import type { RevocationTarget } from '../revocations/revocations.js';
import { assertHasAll } from '../users/user.js';

/** Enough for two keys per system of a customer; few enough to list them in one page. */
export const maxLiveKeys = 50;
export const keyPrefix = 'pk_';
/** Default overlap of a key and its successor: time to install the new key on each machine. */
export const defaultGraceSeconds = 86_400;
/** Characters of a key that lists show. They reveal 42 of its 256 random bits. */
export const keyPrefixLength = 10;

/**
 * Returns the permissions of a new key: the requested ones, by default a customer's as far as its creator has them.
 * @throws DomainError `forbidden` when the role lacks a requested permission
 */
export function grantedPermissions(requested: readonly Permission[] | undefined, role: Role, creator: Pick<Principal, 'permissions'>): readonly Permission[] {
  if (requested === undefined) return permissionsOfRole.customer.filter((one) => creator.permissions.includes(one));
  const excess = requested.filter((one) => !permissionsOfRole[role].includes(one));
  if (excess.length === 0) return requested;
  throw new DomainError('forbidden', `A key cannot have permissions that its user lacks: ${excess.join(', ')}.`);
}

/**
 * Checks that the principal may receive a key of the user: it must have the key's permissions and, since any key reads its user's
 * orders, be able to read orders. Of the principal's own user, an API key is enough for that.
 * @throws DomainError `forbidden`
 */
export function assertMayReceive(principal: Principal, userId: string, permissions: readonly Permission[]): void {
  assertHasAll(principal, permissions);
  if (permits(principal.subject === userId ? readingOrders : { anyOf: readingOrders.anyOf }, principal)) return;
  throw new DomainError('forbidden', `Use a credential with ${readingOrders.anyOf.join(' or ')}: any key reads its user's orders.`);
}

/** @throws CodedError `invalid-input` */
export function assertNotExpired({ expiresAt }: NewApiKey, now: Date): void {
  if (expiresAt === undefined || new Date(expiresAt) > now) return;
  throw invalidInput([{ pointer: '/apiKey/expiresAt', detail: 'must be in the future' }]);
}

/**
 * Checks that a key may be rotated. At most two keys of a rotation line are live at once: a third would be forgotten.
 * @throws DomainError `api-key-not-found`, `too-many-api-keys`
 */
export function assertReplaceable<T extends { readonly isBeingReplaced: boolean }>(key: T | undefined): asserts key is T {
  if (!key) throw apiKeyNotFound();
  if (!key.isBeingReplaced) return;
  throw new DomainError(
    'too-many-api-keys',
    'This key is being rotated: it and its successor both work. Revoke one of them, or wait until the older one expires.',
  );
}

export const apiKeyNotFound = (): DomainError =>
  new DomainError('api-key-not-found', 'The user has no such API key, or it is already revoked or expired.');

/** Returns the log entry of a rotation: the key has ended or, with a grace period, its expiry has changed. */
export const rotationRevocation = (userId: string, id: string, graceSeconds: number): RevocationTarget =>
  graceSeconds === 0 ? { kind: 'apiKey', id } : { kind: 'userChanged', id: userId };

/** Returns the key's permissions that its user still has: the role may have changed since the key was created. */
export const effectivePermissions = (ofKey: readonly Permission[], role: Role): Permission[] =>
  permissionsOfRole[role].filter((one) => ofKey.includes(one));
