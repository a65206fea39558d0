/** What a credential may do; the same names are OAuth scopes. What each is needed for: apps/gateway/src/access.ts. */
export const permissions = [
  'write:plants',
  // What everybody may. Clients of Petstore's kind ask for it beside `write:plants`.
  'read:plants',
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

/** For people: what whoever holds it may do. */
export const permissionMeanings: Readonly<Record<Permission, string>> = {
  'write:plants': 'Add, change and delete plants and their images',
  'read:plants': 'See plants and their images',
  'write:stock': 'Read and set the stock of plants',
  'read:orders': 'See the orders of all users',
  'write:orders': 'Place and cancel own orders',
  'manage:orders': 'Transfer and cancel the orders of all users',
  'write:payments': 'Report payments',
  'write:shipments': 'Report shipments and deliveries',
  'write:users': 'Change and delete all users, and manage OAuth clients',
  webhooks: 'Be told of order events by webhooks',
};

export const roles = ['customer', 'staff', 'admin'] as const;
export type Role = (typeof roles)[number];

export const permissionsOfRole: Readonly<Record<Role, readonly Permission[]>> = {
  customer: ['read:plants', 'write:orders', 'webhooks'],
  staff: permissions.filter((one) => one !== 'write:users'),
  admin: permissions,
};

/** The kinds of credential; `Principal.shown` names those that a request carried. */
export const credentialKinds = ['session', 'apiKey', 'accessToken'] as const;
export type CredentialKind = (typeof credentialKinds)[number];
