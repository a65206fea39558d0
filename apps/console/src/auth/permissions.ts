/** The permissions that pages depend on. Their names are also the OAuth scopes. */
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

/** Returns the permissions in the scope of a token response. */
export function permissionsOf(scope: string): ReadonlySet<Permission> {
  const granted = scope.split(' ');
  return new Set(permissions.filter((one) => granted.includes(one)));
}
