import { IconUsers } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { EmptyState } from '../../ui/empty-state.js';
import { PageHeader } from '../../ui/page-header.js';

/** Applications cannot manage users' own sessions and keys, so without the permission the page is empty. */
export const AdministratorsOnly = (): ReactNode => (
  <>
    <PageHeader title="People" />
    <EmptyState icon={IconUsers} title="Only administrators see people" text="Your role does not allow managing users. Ask an administrator." />
  </>
);
