import { Badge } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Role } from './people-reads.js';

const colors: Readonly<Record<Role, string>> = { customer: 'gray', staff: 'blue', admin: 'grape' };

export const RoleBadge = ({ role }: { readonly role: Role | undefined }): ReactNode => (role === undefined ? null : <Badge variant="light" color={colors[role]} tt="none" miw="max-content">{role}</Badge>);

/** What users with the role may do. */
export const roleTexts: Readonly<Record<Role, string>> = {
  customer: 'their own orders and webhooks',
  staff: 'plants, stock, everybody’s orders, payments and shipments, but no users',
  admin: 'everything, users included',
};
