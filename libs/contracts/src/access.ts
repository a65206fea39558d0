import { type Permission, type PermissionPolicy, readingOrders } from './permissions.js';

/**
 * What a caller needs for an operation. Reasons: docs/decisions/credentials-and-permissions.md.
 *
 * - `open`: no authentication; credentials are ignored and identity is not called. With `cost`, rate and concurrency are
 *   limited: per client address, or with `byCredential` per credential if the gateway already knows it to be valid.
 * - `optional`: no authentication. A valid credential identifies the caller; a refused one is ignored.
 * - `authenticated`: any valid credential; the owning service checks ownership.
 * - `permission`: any of the permissions, or a credential of a kind.
 */
export type AccessPolicy =
  | { readonly kind: 'open'; readonly cost?: number; readonly byCredential?: true }
  | { readonly kind: 'optional' }
  | { readonly kind: 'authenticated' }
  | ({ readonly kind: 'permission' } & PermissionPolicy);

/** Whether requests count against the rate limit (429 beyond it). */
export const isRateLimited = (policy: AccessPolicy): boolean => policy.kind !== 'open' || policy.cost !== undefined;

export const open: AccessPolicy = { kind: 'open' };
export const limitedByAddress = (cost: number): AccessPolicy => ({ kind: 'open', cost });
export const limitedByCredential: AccessPolicy = { kind: 'open', cost: 1, byCredential: true };
export const optionalCredential: AccessPolicy = { kind: 'optional' };
export const authenticated: AccessPolicy = { kind: 'authenticated' };
export const permission = (...anyOf: Permission[]): AccessPolicy => ({ kind: 'permission', anyOf });
export const anyKeyOr = (...anyOf: Permission[]): AccessPolicy => ({ kind: 'permission', anyOf, orKind: 'apiKey' });
export const orderReader: AccessPolicy = { kind: 'permission', ...readingOrders };
