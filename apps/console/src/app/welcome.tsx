import { Button, Center, Image, Loader, Paper, Stack, Text, Title } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';
import { ProblemMessage } from '../ui/problem-alert.js';

/** The centred card shown before login and after logout. */
export function Welcome({ text, error, isBusy = false, action, onAction }: {
  readonly text: string;
  readonly error?: unknown;
  readonly isBusy?: boolean;
  readonly action?: string;
  readonly onAction?: () => void;
}): ReactNode {
  // Also after a page of the console.
  useEffect(() => {
    document.title = 'Plant shop console';
  }, []);
  return (
    <Center component="main" mih="100vh" p="md">
      <Paper withBorder p="xl" w={420} maw="100%" shadow="sm">
        <Stack align="center" ta="center">
          <Image src={`${import.meta.env.BASE_URL}leaf.svg`} alt="" w={56} h={56} />
          <Title order={1} size="h3">Plant shop</Title>
          <Text role="status">{text}</Text>
          {error !== undefined && <Text c="dimmed" size="sm"><ProblemMessage error={error} isShort /></Text>}
          {isBusy && <Loader size="sm" />}
          {action !== undefined && <Button onClick={onAction} autoFocus>{action}</Button>}
        </Stack>
      </Paper>
    </Center>
  );
}
