import { Badge } from '@mantine/core';
import type { ReactNode } from 'react';

/** One colour for each status, on every page. */
export const statusColors: Readonly<Record<string, string>> = {
  // Orders
  placed: 'blue',
  approved: 'grape',
  shipped: 'cyan',
  delivered: 'green',
  cancelled: 'gray',
  // Plants and units
  available: 'green',
  pending: 'yellow',
  sold: 'gray',
  // Refunds, deliveries, endpoints, services
  due: 'orange',
  completed: 'green',
  delivering: 'blue',
  succeeded: 'green',
  failed: 'red',
  ready: 'green',
  slow: 'orange',
  // Mails
  sent: 'green',
  held: 'orange',
};

export const StatusBadge = ({ status, label = status }: { readonly status: string; readonly label?: string }): ReactNode => (
  <Badge variant="light" color={statusColors[status] ?? 'gray'} tt="none" miw="max-content">{label}</Badge>
);
