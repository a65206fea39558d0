import { IconUsers } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { EmptyState } from '../../ui/empty-state.js';
import { PageHeader } from '../../ui/page-header.js';

/** The shop lets no application manage a person's own sessions and keys, so without the permission there is nothing to show. */
export const AdministratorsOnly = (): ReactNode => (
  <>
    <PageHeader title="People" />
    <EmptyState icon={IconUsers} title="Only administrators see people" text="Your role does not include users, or does not any more. Ask an administrator." />
  </>
);
