import { Center, Stack, Text, ThemeIcon, Title } from '@mantine/core';
import { IconAlertTriangle, type IconProps } from '@tabler/icons-react';
import type { ComponentType, ReactNode } from 'react';

/** Shown instead of an empty list: why it is empty, and what to do first. */
export const EmptyState = ({ icon: Icon, title, text, children }: {
  readonly icon: ComponentType<IconProps>;
  readonly title: string;
  readonly text: ReactNode;
  readonly children?: ReactNode;
}): ReactNode => (
  <Center mih={220} p="lg">
    <Stack align="center" gap="xs" ta="center" maw={460} style={{ overflowWrap: 'anywhere' }}>
      <ThemeIcon variant="light" size="xl" radius="xl" aria-hidden><Icon size={24} /></ThemeIcon>
      <Title order={2} size="h4" lineClamp={3}>{title}</Title>
      <Text c="dimmed" size="sm">{text}</Text>
      {children}
    </Stack>
  </Center>
);

/** Shown instead of a thing that is gone, also if the page knew it: nothing of that is true any more. @param what begins a sentence */
export const Gone = ({ what }: { readonly what: string }): ReactNode => <EmptyState icon={IconAlertTriangle} title={`${what} not found`} text="It may have been deleted." />;
