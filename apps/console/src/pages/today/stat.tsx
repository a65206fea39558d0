import { Group, Paper, Stack, Text, ThemeIcon } from '@mantine/core';
import type { IconProps } from '@tabler/icons-react';
import type { ComponentType, ReactNode } from 'react';
import type { OrderFilter } from '../orders/order-filter.js';
import type { WebhooksSearch } from '../webhooks/webhooks-search.js';
import { AnchorLink } from '../../ui/anchor-link.js';
import { ProblemMessage } from '../../ui/problem-alert.js';

/** A key figure with its label. */
export function Stat({ label, value, text, icon: Icon, tone, link, error }: {
  readonly label: string;
  readonly value: string;
  readonly text: string;
  readonly icon: ComponentType<IconProps>;
  readonly tone: string;
  /** Target of the label's link. */
  readonly link: { readonly orders: OrderFilter } | { readonly webhooks: WebhooksSearch };
  readonly error?: unknown;
}): ReactNode {
  return (
    <Paper withBorder p={{ base: 'sm', xs: 'md' }} component="section" aria-label={label}>
      <Group justify="space-between" align="flex-start" wrap="nowrap">
        <Stack gap={2}>
          <Text size="sm" fw={500}>{'orders' in link ? <AnchorLink to="/orders" search={link.orders} c="inherit" inherit>{label}</AnchorLink> : <AnchorLink to="/webhooks" search={link.webhooks} c="inherit" inherit>{label}</AnchorLink>}</Text>
          <Text className="numbers" fz={30} fw={650} lh={1.15}>{value}</Text>
          <Text size="xs" c="dimmed">{error === null || error === undefined ? text : <ProblemMessage error={error} isShort />}</Text>
        </Stack>
        <ThemeIcon variant="light" color={tone} size="lg" aria-hidden visibleFrom="xs"><Icon size={20} stroke={1.75} /></ThemeIcon>
      </Group>
    </Paper>
  );
}
