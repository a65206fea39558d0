import type { Principal } from '@plant-shop/platform/rpc/context';

/** Permissions of credentials; OAuth scopes have the same names. The declaration of an operation says which it needs. */
export const permissions = [
  'write:plants',
  // Everyone has it. Clients in the style of the Petstore example request it together with `write:plants`.
  'read:plants',
  'read:stock',
  'write:stock',
  'read:orders',
  'write:orders',
  'manage:orders',
  'write:payments',
  'write:shipments',
  'write:users',
  'webhooks',
] as const;

export type Permission = (typeof permissions)[number];

/** What each permission allows, as shown to users. */
export const permissionMeanings: Readonly<Record<Permission, string>> = {
  'write:plants': 'Add, change and delete plants and their images',
  'read:plants': 'See plants and their images',
  'read:stock': 'See the stock of plants',
  'write:stock': 'Read and set the stock of plants',
  'read:orders': 'See the orders of all users',
  'write:orders': 'Place and cancel own orders',
  'manage:orders': 'Transfer and cancel the orders of all users, and see their webhooks',
  'write:payments': 'Report payments',
  'write:shipments': 'Report shipments and deliveries',
  'write:users': 'Change and delete all users, their roles, sessions and API keys, manage OAuth clients and destinations, and read the audit log',
  webhooks: 'Receive order events by webhook',
};

export const roles = ['customer', 'staff', 'admin'] as const;
export type Role = (typeof roles)[number];

export const permissionsOfRole: Readonly<Record<Role, readonly Permission[]>> = {
  customer: ['read:plants', 'write:orders', 'webhooks'],
  staff: permissions.filter((one) => one !== 'write:users'),
  admin: permissions,
};

/** The kinds of credential. `Principal.shown` lists those of the acting user that a request carried. */
export const credentialKinds = ['session', 'apiKey', 'accessToken'] as const;
export type CredentialKind = (typeof credentialKinds)[number];

/** What an access token is for (RFC 8707), as the path below the public address: the API, or its tools for agents. It is good for nothing else. */
export const tokenResources = ['/v3', '/mcp'] as const;
export type TokenResource = (typeof tokenResources)[number];

/** Any of the permissions, or any credential of the kind `orKind`. */
export interface PermissionPolicy {
  readonly anyOf: readonly Permission[];
  readonly orKind?: CredentialKind;
}

/** Who may read orders, one by one at the gateway and as events of the stream. */
export const readingOrders: PermissionPolicy = { anyOf: ['write:orders', 'read:orders'], orKind: 'apiKey' };

/** Who may read stock, one by one and as events: `write:stock` contains `read:stock`. */
export const readingStock = { anyOf: ['read:stock', 'write:stock'] } as const satisfies PermissionPolicy;

/** Whether permissions contain another one. */
export const contain = (permissions: readonly string[], one: Permission): boolean =>
  permissions.includes(one) || (one === 'read:stock' && readingStock.anyOf.some((other) => permissions.includes(other)));

export const permits = ({ anyOf, orKind }: PermissionPolicy, { permissions, shown }: Pick<Principal, 'permissions' | 'shown'>): boolean =>
  anyOf.some((one) => permissions.includes(one)) || (orKind !== undefined && shown.includes(orKind));

/**
 * What a caller needs for an operation. Reasons: docs/decisions/credentials-and-permissions.md.
 *
 * - `open`: no authentication; credentials are ignored. With `cost`, rate and concurrency are limited: per client address, or
 *   with `byCredential` per user if the gateway knows the credential to be valid (it asks identity only once the address's limit is exhausted).
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
export const openLimitedByUser: AccessPolicy = { kind: 'open', cost: 1, byCredential: true };
export const optionalCredential: AccessPolicy = { kind: 'optional' };
export const authenticated: AccessPolicy = { kind: 'authenticated' };
export const permission = (...anyOf: Permission[]): AccessPolicy => ({ kind: 'permission', anyOf });
export const anyKeyOr = (...anyOf: Permission[]): AccessPolicy => ({ kind: 'permission', anyOf, orKind: 'apiKey' });
export const orderReader: AccessPolicy = { kind: 'permission', ...readingOrders };
