import { Group, Paper, Text, Title } from '@mantine/core';
import { type ReactNode, useId } from 'react';

/** A section of a page, with a heading. */
export function Card({ title, aside, children }: { readonly title: string; readonly aside?: ReactNode; readonly children: ReactNode }): ReactNode {
  const id = useId();
  return (
    <Paper withBorder p="md" h="100%" component="section" aria-labelledby={id}>
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h5" id={id}>{title}</Title>
        {aside}
      </Group>
      {children}
    </Paper>
  );
}

/** One of a thing's facts, under its name. */
export const Fact = ({ name, children }: { readonly name: string; readonly children: ReactNode }): ReactNode => (
  <div>
    <Text size="sm" c="dimmed" mb={4}>{name}</Text>
    {children}
  </div>
);
