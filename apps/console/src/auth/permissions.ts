import type { permissionMeanings } from '@plant-shop/client';

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

/** The user may not do any more what was allowed when the page was opened. */
export class LostPermissions extends Error {
  constructor(readonly permissions: readonly Permission[]) {
    super('The role was changed.');
  }
}

/** What each role allows, of these. */
export const permissionsOfRole: Readonly<Record<'customer' | 'staff' | 'admin', readonly Permission[]>> = {
  customer: ['write:orders', 'webhooks'],
  staff: permissions.filter((one) => one !== 'write:users'),
  admin: permissions,
};

/** Returns the permissions in the scope of a token response. */
export function permissionsOf(scope: string): ReadonlySet<Permission> {
  const granted = scope.split(' ');
  return new Set(permissions.filter((one) => granted.includes(one)));
}

/** Each permission in a few words; `permissionMeanings` says it in a sentence. */
export const permissionNames: Readonly<Record<keyof typeof permissionMeanings, string>> = {
  'write:plants': 'change plants',
  'read:plants': 'see plants',
  'read:stock': 'see stock',
  'write:stock': 'set stock',
  'read:orders': 'see all orders',
  'write:orders': 'place orders',
  'manage:orders': 'transfer and cancel orders',
  'write:payments': 'report payments',
  'write:shipments': 'report shipments',
  'write:users': 'manage people',
  webhooks: 'use webhooks',
};
