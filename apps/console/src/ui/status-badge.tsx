import { Badge, Group, Text } from '@mantine/core';
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

/** A state and why it is so, whose longest word may be broken: it fits any column. */
export const ExplainedBadge = ({ label, color, children }: { readonly label: string; readonly color: string; readonly children?: ReactNode }): ReactNode => (
  <Group gap="xs">
    <Badge variant="light" color={color} tt="none" miw="max-content">{label}</Badge>
    {children !== undefined && <Text size="sm" style={{ overflowWrap: 'anywhere' }}>{children}</Text>}
  </Group>
);
