import { Anchor, Button, Paper, Table, Text, VisuallyHidden } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useShop } from '../../auth/session.js';
import { sayDone } from '../../ui/done.js';
import { ProblemMessage } from '../../ui/problem-alert.js';
import { StatusBadge } from '../../ui/status-badge.js';
import { Time, useIsAhead } from '../../ui/time.js';
import { useChange } from '../../ui/use-change.js';
import { type Mail, mailKinds } from './mail-kinds.js';

export const MailTable = ({ mails }: { readonly mails: readonly Mail[] }): ReactNode => (
  <Paper withBorder>
    <Table.ScrollContainer minWidth={700}>
      <Table aria-label="Mails">
        <Table.Thead>
          <Table.Tr><Table.Th>State</Table.Th><Table.Th>About</Table.Th><Table.Th>To</Table.Th><Table.Th>Asked for</Table.Th><Table.Th>Attempts</Table.Th><Table.Th>What happened</Table.Th><Table.Th w={120}><VisuallyHidden>Action</VisuallyHidden></Table.Th></Table.Tr>
        </Table.Thead>
        <Table.Tbody>{mails.map((mail) => <Row key={mail.id} mail={mail} />)}</Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  </Paper>
);

/** Whether the shop may have a mail to send again. The shop decides. */
const isOffered = ({ state, orderId }: Mail): boolean => state === 'failed' || (state === 'sent' && orderId !== undefined);

function Row({ mail }: { readonly mail: Mail }): ReactNode {
  const { id, kind, state, username, userId, address, orderId, attempts, createdAt } = mail;
  const shop = useShop();
  const client = useQueryClient();
  const resend = useChange({
    mutationFn: async (_, again) => (await shop.POST('/mails/{mailId}/resend', { params: { path: { mailId: id } }, ...again })).data,
    onSuccess: async () => {
      sayDone('A copy of the mail waits to be sent: it is at the top of the list.');
      await client.invalidateQueries({ queryKey: ['mails'] });
    },
  });
  const label = `Send again: ${mailKinds[kind]}, to ${username ?? 'a deleted user'}`;
  return (
    <Table.Tr>
      <Table.Td><StatusBadge status={state} /></Table.Td>
      <Table.Td>
        {mailKinds[kind]}
        {orderId !== undefined && <Anchor component={Link} to={`/orders/${orderId}`} size="sm" display="block">Order {orderId}</Anchor>}
      </Table.Td>
      <Table.Td miw={150} maw={240} style={{ overflowWrap: 'anywhere' }}>
        {username === undefined ? <Text size="sm" c="dimmed" title={userId}>a deleted user</Text> : <Anchor component={Link} to={`/people/${encodeURIComponent(username)}`} size="sm">{username}</Anchor>}
        {address !== undefined && <Text size="sm" c="dimmed">{address}</Text>}
      </Table.Td>
      <Table.Td style={{ whiteSpace: 'nowrap' }}><Time at={createdAt} /></Table.Td>
      <Table.Td className="numbers">{attempts}</Table.Td>
      <Table.Td maw={320} style={{ overflowWrap: 'anywhere' }}>
        <Happened mail={mail} />
        {resend.error !== null && <Text size="sm" c="red" role="alert"><ProblemMessage error={resend.error} isShort /></Text>}
      </Table.Td>
      <Table.Td>{isOffered(mail) && <Button size="compact-sm" variant="default" loading={resend.isPending} disabled={resend.data !== undefined} aria-label={label} onClick={() => resend.mutate()}>{resend.data === undefined ? 'Send again' : 'Asked for'}</Button>}</Table.Td>
    </Table.Tr>
  );
}

function Happened({ mail: { state, endedAt, nextAttemptAt, lastError } }: { readonly mail: Mail }): ReactNode {
  const isScheduled = useIsAhead(nextAttemptAt);
  return (
    <>
      {state === 'sent' && <Text size="sm">Sent <Time at={endedAt} /></Text>}
      {state === 'failed' && <Text size="sm">Given up <Time at={endedAt} /></Text>}
      {state === 'pending' && <Text size="sm">{isScheduled ? <>Next attempt <Time at={nextAttemptAt} isPlanned /></> : 'Is being sent'}</Text>}
      {state === 'held' && <Text size="sm">Held: the user got many of these within an hour</Text>}
      {lastError !== undefined && <Text size="sm" c="dimmed">{lastError}</Text>}
    </>
  );
}
