import { Badge, Button, Group, Paper, Table, Text, Title, VisuallyHidden } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { usePerson, useShop } from '../../auth/session.js';
import { evenIfGone } from '../../shop/gone.js';
import { ConfirmDialog } from '../../ui/confirm-dialog.js';
import { sayDone } from '../../ui/done.js';
import { Loading } from '../../ui/loading.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { Time } from '../../ui/time.js';
import { useChange } from '../../ui/use-change.js';
import { deviceOf } from './device.js';
import { type OpenSession, useSessions } from './people-reads.js';

const kinds: Readonly<Record<OpenSession['kind'], string>> = { token: 'Program', application: 'Browser' };

/** A user's sessions, which can be ended. */
export function Sessions({ username }: { readonly username: string }): ReactNode {
  const { data: sessions, error, isPending } = useSessions(username);
  const [ending, setEnding] = useState<OpenSession | 'all'>();
  return (
    <Paper withBorder mb="md" component="section" aria-labelledby="sessions">
      <Group justify="space-between" p="md" pb="xs">
        <Title order={2} size="h4" id="sessions">Sessions</Title>
        {sessions !== undefined && <Button size="xs" variant="default" onClick={() => setEnding('all')}>Log out everywhere</Button>}
      </Group>
      <ProblemAlert error={error} title="The sessions could not be loaded" isShown={sessions !== undefined} />
      {isPending && <Loading />}
      {sessions?.length === 0 && <Text size="sm" c="dimmed" p="md" pt={0}>{username} has no open session. “Log out everywhere” also ends what applications may still do.</Text>}
      {sessions !== undefined && sessions.length > 0 && <SessionTable sessions={sessions} onEnd={setEnding} />}
      {ending !== undefined && <EndSession username={username} ending={ending} onClose={() => setEnding(undefined)} />}
    </Paper>
  );
}

const SessionTable = ({ sessions, onEnd }: { readonly sessions: readonly OpenSession[]; readonly onEnd: (session: OpenSession) => void }): ReactNode => (
  <Table.ScrollContainer minWidth={720}>
    <Table aria-labelledby="sessions">
      <Table.Thead><Table.Tr><Table.Th>Kind</Table.Th><Table.Th>Device</Table.Th><Table.Th>Network</Table.Th><Table.Th>Started</Table.Th><Table.Th>Last used</Table.Th><Table.Th>Expires</Table.Th><Table.Th w={90}><VisuallyHidden>Action</VisuallyHidden></Table.Th></Table.Tr></Table.Thead>
      <Table.Tbody>
        {sessions.map((session) => (
          <Table.Tr key={session.id}>
            <Table.Td><Group gap={6} wrap="nowrap">{kinds[session.kind]}{session.current && <Badge variant="light" color="green" tt="none">this one</Badge>}</Group></Table.Td>
            <Table.Td maw={280}><Text size="sm" lineClamp={2} title={session.userAgent} style={{ overflowWrap: 'anywhere' }}>{deviceOf(session.userAgent)}</Text></Table.Td>
            <Table.Td style={{ overflowWrap: 'anywhere' }}>{session.from ?? 'unknown'}</Table.Td>
            <Table.Td><Time at={session.createdAt} /></Table.Td>
            <Table.Td><Time at={session.lastUsedAt} /></Table.Td>
            <Table.Td><Time at={session.expiresAt} isPlanned /></Table.Td>
            <Table.Td><Button size="compact-sm" variant="default" aria-label={`End the session of ${deviceOf(session.userAgent)}`} onClick={() => onEnd(session)}>End</Button></Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  </Table.ScrollContainer>
);

function EndSession({ username, ending, onClose }: { readonly username: string; readonly ending: OpenSession | 'all'; readonly onClose: () => void }): ReactNode {
  const shop = useShop();
  const client = useQueryClient();
  const isSelf = usePerson().username === username;
  const isAll = ending === 'all';
  const end = useChange({
    mutationFn: () =>
      evenIfGone(isAll
        ? shop.DELETE('/user/{username}/sessions', { params: { path: { username } } })
        : shop.DELETE('/user/{username}/sessions/{sessionId}', { params: { path: { username, sessionId: ending.id } } })),
    onSuccess: async () => {
      sayDone(isAll ? `${username} is logged out everywhere.` : 'The session has ended.');
      onClose();
      await client.invalidateQueries({ queryKey: ['user', username, 'sessions'] });
    },
  });
  return (
    <ConfirmDialog title={isAll ? `Log ${username} out everywhere?` : 'End the session?'} action={isAll ? 'Log out everywhere' : 'End the session'} isOpen isBusy={end.isPending} error={end.error} onConfirm={() => end.mutate()} onClose={onClose}>
      <Text size="sm">{isAll ? 'All sessions and consents end. API keys stay valid.' : `${deviceOf(ending.userAgent)}, ${ending.from === undefined ? 'from an unknown network' : `from ${ending.from}`}: it is refused within a second, and so is the console in that browser. Applications on servers stay connected.`}</Text>
      {isSelf && <Text size="sm" mt="xs" fw={600}>This is your own account: this page may be logged out, too.</Text>}
    </ConfirmDialog>
  );
}
