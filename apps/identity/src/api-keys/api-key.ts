import { DomainError } from '@plant-shop/contracts/errors';
import type { ApiKey, NewApiKey } from '@plant-shop/contracts/identity.api-keys';
import { type Permission, permissionsOfRole, type Role } from '@plant-shop/contracts/permissions';
import { invalidInput } from '@plant-shop/platform/errors';
import type { RevocationTarget } from '../revocations/revocations.repository.js';

/** Enough for two keys per system of a customer; few enough to list them in one page. */
export const maxLiveKeys = 50;
export const keyPrefix = 'pk_';
/** Default overlap of a key and its successor: time to install the new key on each machine. */
export const defaultGraceSeconds = 86_400;
/** Characters of a key that lists show. They reveal 42 of its 256 random bits. */
export const keyPrefixLength = 10;

export interface ApiKeyRecord {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly permissions: readonly Permission[];
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly lastUsedAt: Date | null;
}

export const toApiKey = (key: ApiKeyRecord): ApiKey => ({
  id: key.id,
  name: key.name,
  prefix: key.prefix,
  permissions: key.permissions,
  createdAt: key.createdAt.toISOString(),
  ...(key.expiresAt && { expiresAt: key.expiresAt.toISOString() }),
  ...(key.lastUsedAt && { lastUsedAt: key.lastUsedAt.toISOString() }),
});

/**
 * Returns the permissions of a new key: the requested ones, by default all of the user's role.
 * @throws DomainError `forbidden` when the role lacks a requested permission
 */
export function grantedPermissions(requested: readonly Permission[] | undefined, role: Role): readonly Permission[] {
  const allowed = permissionsOfRole[role];
  const excess = (requested ?? []).filter((one) => !allowed.includes(one));
  if (excess.length === 0) return requested ?? allowed;
  throw new DomainError('forbidden', `A key cannot have permissions that its user lacks: ${excess.join(', ')}.`);
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
export function assertReplaceable(
  key: { readonly isBeingReplaced: boolean } | undefined,
): asserts key is { readonly isBeingReplaced: false } {
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
