import { Center, Stack, Text, ThemeIcon, Title } from '@mantine/core';
import type { IconProps } from '@tabler/icons-react';
import type { ComponentType, ReactNode } from 'react';

/** Shown instead of an empty list: why it is empty, and what to do first. */
export const EmptyState = ({ icon: Icon, title, text, children }: {
  readonly icon: ComponentType<IconProps>;
  readonly title: string;
  readonly text: ReactNode;
  readonly children?: ReactNode;
}): ReactNode => (
  <Center mih={220} p="lg">
    <Stack align="center" gap="xs" ta="center" maw={460}>
      <ThemeIcon variant="light" size="xl" radius="xl" aria-hidden><Icon size={24} /></ThemeIcon>
      <Title order={2} size="h4">{title}</Title>
      <Text c="dimmed" size="sm">{text}</Text>
      {children}
    </Stack>
  </Center>
);
