import type { ReactNode } from 'react';
import { PageHeader } from '../../ui/page-header.js';

export const StreamPage = (): ReactNode => <PageHeader title="Stream" />;
