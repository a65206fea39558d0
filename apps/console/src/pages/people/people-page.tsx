import type { ReactNode } from 'react';
import { PageHeader } from '../../ui/page-header.js';

export const PeoplePage = (): ReactNode => <PageHeader title="People" />;
