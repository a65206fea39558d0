import { Anchor, Button, Code, CopyButton, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { IconCopy, IconPlayerTrackNext } from '@tabler/icons-react';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { StreamSearch } from './stream-search.js';
import type { TailEntry } from './tail.js';

const route = getRouteApi('/stream');

/** The selected event as JSON. */
export function FramePanel({ entry }: { readonly entry: TailEntry | undefined }): ReactNode {
  const navigate = route.useNavigate();
  if (!entry) return <Paper withBorder p="md"><Text size="sm" c="dimmed">Select an event by mouse or arrow keys to see its frame.</Text></Paper>;
  const { frame } = entry;
  const json = JSON.stringify(frame, null, 2);
  return (
    <Paper withBorder p="md" component="section" aria-label="Frame">
      <Stack gap="sm">
        <Group justify="space-between">
          <Title order={2} size="h5">{frame.event}</Title>
          <CopyButton value={json} timeout={2_000}>{({ copied, copy }) => <Button size="compact-sm" variant="default" leftSection={<IconCopy size={14} />} onClick={copy}>{copied ? 'Copied' : 'Copy'}</Button>}</CopyButton>
        </Group>
        <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>{json}</Code>
        <Group justify="space-between">
          {frame.event === 'stream.gap' ? <span /> : <Anchor component={Link} to={`/orders/${frame.data.orderId}`} size="sm">Order {frame.data.orderId}</Anchor>}
          <Button size="compact-sm" variant="default" leftSection={<IconPlayerTrackNext size={14} />} onClick={() => void navigate({ search: (before: StreamSearch) => ({ ...before, from: frame.cursor }) })}>Start after this one</Button>
        </Group>
      </Stack>
    </Paper>
  );
}
