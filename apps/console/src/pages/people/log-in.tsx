import { Badge, Button, Group, Paper, Table, Text, Title, VisuallyHidden } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useShop } from '../../auth/session.js';
import { evenIfGone } from '../../shop/gone.js';
import { ConfirmDialog } from '../../ui/confirm-dialog.js';
import { sayDone } from '../../ui/done.js';
import { Loading } from '../../ui/loading.js';
import { isolated } from '../../ui/numbers.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { Time } from '../../ui/time.js';
import { useChange } from '../../ui/use-change.js';
import { type Factor, type User, useFactors } from './people-reads.js';

const kinds: Readonly<Record<Factor['kind'], string>> = { passkey: 'Passkey', totp: 'Authenticator app' };

/** What a user logs in with, for those who have lost it. */
export function LogIn({ user }: { readonly user: User }): ReactNode {
  const { username } = user;
  const { data: factors, error, isPending } = useFactors(username);
  const [removing, setRemoving] = useState<Factor>();
  const [isSending, { open, close }] = useDisclosure();
  return (
    <Paper withBorder mb="md" component="section" aria-labelledby="log-in">
      <Group justify="space-between" p="md" pb="xs">
        <Title order={2} size="h4" id="log-in">Second factors</Title>
        <Button size="xs" variant="default" onClick={open}>Send a link for a new password</Button>
      </Group>
      <ProblemAlert error={error} title="The second factors could not be loaded" isShown={factors !== undefined} />
      {isPending && <Loading />}
      {factors?.length === 0 && <Text size="sm" c="dimmed" p="md" pt={0}>{username} logs in with the password alone.</Text>}
      {factors !== undefined && factors.length > 0 && <FactorTable factors={factors} onRemove={setRemoving} />}
      {removing && <RemoveFactor user={user} factor={removing} isLast={factors?.length === 1} onClose={() => setRemoving(undefined)} />}
      {isSending && <SendLink user={user} onClose={close} />}
    </Paper>
  );
}

const FactorTable = ({ factors, onRemove }: { readonly factors: readonly Factor[]; readonly onRemove: (factor: Factor) => void }): ReactNode => (
  <Table.ScrollContainer minWidth={560}>
    <Table aria-labelledby="log-in">
      <Table.Thead><Table.Tr><Table.Th>Kind</Table.Th><Table.Th>Name</Table.Th><Table.Th>Added</Table.Th><Table.Th>Last used</Table.Th><Table.Th w={100}><VisuallyHidden>Action</VisuallyHidden></Table.Th></Table.Tr></Table.Thead>
      <Table.Tbody>
        {factors.map((factor) => (
          <Table.Tr key={factor.id}>
            <Table.Td><Group gap={6} wrap="nowrap">{kinds[factor.kind]}{factor.locked && <Badge variant="light" color="red" tt="none">locked: it was copied</Badge>}</Group></Table.Td>
            <Table.Td maw={260} style={{ overflowWrap: 'anywhere' }}>{factor.name}</Table.Td>
            <Table.Td><Time at={factor.createdAt} /></Table.Td>
            <Table.Td>{factor.lastUsedAt === undefined ? 'never' : <Time at={factor.lastUsedAt} />}</Table.Td>
            <Table.Td><Button size="compact-sm" variant="default" aria-label={`Remove ${kinds[factor.kind]} ${factor.name}`} onClick={() => onRemove(factor)}>Remove</Button></Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  </Table.ScrollContainer>
);

function RemoveFactor({ user: { username, role }, factor: { id: factorId, kind, name }, isLast, onClose }: { readonly user: User; readonly factor: Factor; readonly isLast: boolean; readonly onClose: () => void }): ReactNode {
  const shop = useShop();
  const client = useQueryClient();
  const remove = useChange({
    mutationFn: () => evenIfGone(shop.DELETE('/user/{username}/factors/{factorId}', { params: { path: { username, factorId } } })),
    onSuccess: async (removal) => {
      sayDone(removal?.data.state === 'waiting' ? 'A second administrator has to remove it too, within 24 hours.' : 'The second factor is removed.');
      onClose();
      await client.invalidateQueries({ queryKey: ['user', username, 'factors'] });
    },
  });
  return (
    <ConfirmDialog title={`Remove ${kinds[kind]} ${isolated(name)}?`} action="Remove it" isOpen isBusy={remove.isPending} error={remove.error} onConfirm={() => remove.mutate()} onClose={onClose}>
      <Text size="sm">Make sure first that it is {username} who asks: whoever knows the password can log in {isLast ? 'without a second factor' : 'with those that are left'}.</Text>
      {role === 'admin' && <Text size="sm" mt="xs">A second administrator has to remove it too, within 24 hours.</Text>}
    </ConfirmDialog>
  );
}

/** Links go to verified addresses only: another one gets the mail that verifies it. */
function SendLink({ user: { username, email = '', emailVerified = false }, onClose }: { readonly user: User; readonly onClose: () => void }): ReactNode {
  const shop = useShop();
  const what = emailVerified ? 'A link' : 'The verification';
  const send = useChange({
    mutationFn: () => (emailVerified ? shop.POST('/recovery', { body: { username } }) : shop.POST('/user/{username}/emailVerification', { params: { path: { username } } })),
    onSuccess: () => {
      sayDone(`${what} was sent to ${email}.`);
      onClose();
    },
  });
  return (
    <ConfirmDialog title="Send a link for a new password?" action={emailVerified ? 'Send the link' : 'Send the verification again'} color="green" isOpen isBusy={send.isPending} isPossible={email !== ''} error={send.error} onConfirm={() => send.mutate()} onClose={onClose}>
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {emailVerified && `It goes to ${email}, and works once within 15 minutes.`}
        {!emailVerified && (email === '' ? `${username} has no e-mail address, so no link can be sent.` : `${email} is not verified, so no link can be sent to it. Once ${username} has verified it, send the link.`)}
      </Text>
    </ConfirmDialog>
  );
}
