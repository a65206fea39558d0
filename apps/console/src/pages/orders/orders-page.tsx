import type { ReactNode } from 'react';
import { PageHeader } from '../../ui/page-header.js';

export const OrdersPage = (): ReactNode => <PageHeader title="Orders" />;
