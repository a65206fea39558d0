import type { ReactNode } from 'react';
import { PageHeader } from '../../ui/page-header.js';

export const WebhooksPage = (): ReactNode => <PageHeader title="Webhooks" />;
