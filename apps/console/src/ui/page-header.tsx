import { Group, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

/** The title of a page, what it is for, and its actions at the right. */
export const PageHeader = ({ title, text, children }: { readonly title: string; readonly text?: ReactNode; readonly children?: ReactNode }): ReactNode => (
  <Group justify="space-between" align="flex-start" mb="md">
    <Stack gap={2}>
      <Title order={1} size="h2">{title}</Title>
      {text !== undefined && <Text c="dimmed" size="sm">{text}</Text>}
    </Stack>
    <Group gap="xs">{children}</Group>
  </Group>
);
