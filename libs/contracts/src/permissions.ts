/** What a credential may do; the same names are OAuth scopes. Source: 1-api-decisions, "Who may do what". */
export const permissions = [
  'write:plants',
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

export const roles = ['customer', 'staff', 'admin'] as const;
export type Role = (typeof roles)[number];

export const permissionsOfRole: Readonly<Record<Role, readonly Permission[]>> = {
  customer: ['write:orders', 'webhooks'],
  staff: permissions.filter((one) => one !== 'write:users'),
  admin: permissions,
};

/** The kinds of credential; `Principal.shown` names those that a request carried. */
export const credentialKinds = ['session', 'apiKey', 'accessToken'] as const;
export type CredentialKind = (typeof credentialKinds)[number];
