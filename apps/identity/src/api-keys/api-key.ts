import { DomainError } from '@plant-shop/contracts/errors';
import type { ApiKey, NewApiKey } from '@plant-shop/contracts/identity.api-keys';
import { type Permission, permissionsOfRole, type Role } from '@plant-shop/contracts/permissions';
import { invalidInput } from '@plant-shop/platform/errors';
import type { Revoked } from '../revocations/revocations.repository.js';

/** Enough for every system of a customer with two keys each; few enough that a list is one page. */
export const maxLiveKeys = 50;
export const keyPrefix = 'pk_';
/**
 * How long a key goes on beside its successor, where nothing else is asked: time to carry the new one to each machine.
 */
export const defaultGraceSeconds = 86_400;
/** Characters that lists show: of the 256 bits of a key of ours they give away 42. */
export const shownCharacters = 10;

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
 * What a new key of a user with this role may do: what is asked, or all that the user may.
 * @throws DomainError `forbidden` when that is more than the user may
 */
export function grantedPermissions(asked: readonly Permission[] | undefined, role: Role): readonly Permission[] {
  const allowed = permissionsOfRole[role];
  const excess = (asked ?? []).filter((one) => !allowed.includes(one));
  if (excess.length === 0) return asked ?? allowed;
  throw new DomainError('forbidden', `The user may not do this, and so cannot grant it: ${excess.join(', ')}.`);
}

/** @throws CodedError `invalid-input` */
export function assertNotExpired({ expiresAt }: NewApiKey, now: Date): void {
  if (expiresAt === undefined || new Date(expiresAt) > now) return;
  throw invalidInput([{ pointer: '/apiKey/expiresAt', detail: 'must be in the future' }]);
}

/**
 * Of one line of keys, each made to replace the one before, at most two live: a third would be one that nobody
 * remembers.
 * @throws DomainError `api-key-not-found`, `too-many-api-keys`
 */
export function assertReplaceable(
  key: { readonly isBeingReplaced: boolean } | undefined,
): asserts key is { readonly isBeingReplaced: false } {
  if (!key) throw apiKeyNotFound();
  if (!key.isBeingReplaced) return;
  throw new DomainError(
    'too-many-api-keys',
    'The key is being replaced: there are two of it. Revoke one of them, or wait until the older one has expired.',
  );
}

export const apiKeyNotFound = (): DomainError =>
  new DomainError('api-key-not-found', 'The user has no such API key, or it is revoked or expired already.');

/** What the log tells of a rotation: an end, or that the key's end is nearer than was answered before. */
export const rotationRevocation = (userId: string, id: string, graceSeconds: number): Revoked =>
  graceSeconds === 0 ? { kind: 'apiKey', id } : { kind: 'userChanged', id: userId };

/** A role may have lost a permission that a key of old still names. */
export const effectivePermissions = (ofKey: readonly Permission[], role: Role): Permission[] =>
  permissionsOfRole[role].filter((one) => ofKey.includes(one));
