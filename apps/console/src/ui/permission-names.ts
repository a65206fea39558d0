import type { permissionMeanings } from '@plant-shop/client';

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
