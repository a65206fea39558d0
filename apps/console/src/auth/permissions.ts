/** What the console's pages ask of a person; the names are the shop's permissions and OAuth scopes. */
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

/** Permissions of a scope as the token endpoint gives it. */
export function permissionsOf(scope: string): ReadonlySet<Permission> {
  const granted = scope.split(' ');
  return new Set(permissions.filter((one) => granted.includes(one)));
}
