import type { ReactNode } from 'react';
import { PageHeader } from '../../ui/page-header.js';

export const TodayPage = (): ReactNode => <PageHeader title="Today" />;
