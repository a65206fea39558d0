import { IconActivity, IconDatabaseExport, IconLeaf, IconMail, IconPackage, type IconProps, IconSunHigh, IconUsers, IconWebhook } from '@tabler/icons-react';
import type { ComponentType } from 'react';
import type { Permission } from '../auth/permissions.js';

export interface PageEntry {
  readonly path: '/' | '/orders' | '/plants' | '/stream' | '/webhooks' | '/destinations' | '/people' | '/mails';
  readonly label: string;
  readonly icon: ComponentType<IconProps>;
  /** The page is offered to users with one of these permissions; empty: to all. */
  readonly needs: readonly Permission[];
}

/** The navigation. */
export const pages: readonly PageEntry[] = [
  { path: '/', label: 'Today', icon: IconSunHigh, needs: [] },
  { path: '/orders', label: 'Orders', icon: IconPackage, needs: ['read:orders', 'write:orders'] },
  { path: '/plants', label: 'Plants', icon: IconLeaf, needs: ['write:plants', 'write:stock'] },
  { path: '/stream', label: 'Stream', icon: IconActivity, needs: ['read:orders', 'write:orders'] },
  { path: '/webhooks', label: 'Webhooks', icon: IconWebhook, needs: ['webhooks'] },
  { path: '/destinations', label: 'Destinations', icon: IconDatabaseExport, needs: ['write:users'] },
  { path: '/people', label: 'People', icon: IconUsers, needs: ['write:users'] },
  { path: '/mails', label: 'Mails', icon: IconMail, needs: ['write:users'] },
];
