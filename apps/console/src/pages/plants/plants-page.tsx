import type { ReactNode } from 'react';
import { PageHeader } from '../../ui/page-header.js';

export const PlantsPage = (): ReactNode => <PageHeader title="Plants" />;
