import { Group, Stack, Text, Title } from '@mantine/core';
import { type ReactNode, useEffect, useSyncExternalStore } from 'react';
import { newOrders, newOrdersText } from '../shop/new-orders.js';

/** The title of a page, also of its tab, what it is for, and its actions at the right. @param badge beside the title @param tab names in the tab what the title does not: the open part */
export function PageHeader({ title, badge, tab, text, children }: { readonly title: string; readonly badge?: ReactNode; readonly tab?: string | undefined; readonly text?: ReactNode; readonly children?: ReactNode }): ReactNode {
  const name = tab === undefined ? title : `${tab} · ${title}`;
  const unseen = newOrdersText(useSyncExternalStore(newOrders.subscribe, newOrders.get));
  useEffect(() => {
    document.title = `${unseen === '' ? '' : `(${unseen}) `}${name} · Plant shop`;
  }, [name, unseen]);
  return (
    <Group justify="space-between" align="flex-start" mb="md">
      <Stack gap={2} miw={0}>
        <Group gap="xs">
          <Title order={1} size="h2" miw={0} style={{ overflowWrap: 'anywhere' }}>{title}</Title>
          {badge}
        </Group>
        {text !== undefined && <Text c="dimmed" size="sm" style={{ overflowWrap: 'anywhere' }}>{text}</Text>}
      </Stack>
      <Group gap="xs">{children}</Group>
    </Group>
  );
}
