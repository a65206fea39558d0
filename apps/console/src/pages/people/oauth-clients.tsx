import { Badge, Button, Code, Group, Paper, Table, Text, VisuallyHidden } from '@mantine/core';
import { IconApps, IconPlus } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useSession, useShop } from '../../auth/session.js';
import { evenIfGone } from '../../shop/gone.js';
import { ConfirmDialog } from '../../ui/confirm-dialog.js';
import { sayDone } from '../../ui/done.js';
import { EmptyState } from '../../ui/empty-state.js';
import { Loading } from '../../ui/loading.js';
import { isolated } from '../../ui/numbers.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { Time } from '../../ui/time.js';
import { useChange } from '../../ui/use-change.js';
import { NewOAuthClient } from './new-oauth-client.js';
import { type OAuthClient, useOAuthClients } from './people-reads.js';
import { PermissionBadges } from './permissions.js';
import { RotateClientSecret } from './rotate-client-secret.js';

/** Whether it gets tokens for itself: nobody logs in to it. */
const isProgram = ({ grantTypes }: OAuthClient): boolean => grantTypes.includes('client_credentials');

type Open = { readonly dialog: 'new' } | { readonly dialog: 'rotate' | 'delete'; readonly oauthClient: OAuthClient };

/** OAuth clients: applications that users log in to, and programs with tokens of their own. */
export function OAuthClients(): ReactNode {
  const { data: clients, error, isPending } = useOAuthClients();
  const [open, setOpen] = useState<Open>();
  const close = (): void => setOpen(undefined);
  return (
    <>
      <Group justify="space-between" mb="sm">
        <Text size="sm" c="dimmed">Applications that people log in to with this shop, and programs that get tokens for themselves.</Text>
        <Button size="xs" leftSection={<IconPlus size={14} />} onClick={() => setOpen({ dialog: 'new' })}>New client</Button>
      </Group>
      <ProblemAlert error={error} title="The OAuth clients could not be loaded" isShown={clients !== undefined} />
      {isPending && <Loading />}
      {clients?.length === 0 && <EmptyState icon={IconApps} title="No OAuth clients yet" text="Register an application here before people can log in to it with this shop." />}
      {clients !== undefined && clients.length > 0 && <ClientTable clients={clients} onOpen={setOpen} />}
      {open?.dialog === 'new' && <NewOAuthClient onClose={close} />}
      {open?.dialog === 'rotate' && <RotateClientSecret oauthClient={open.oauthClient} onClose={close} />}
      {open?.dialog === 'delete' && <DeleteClient oauthClient={open.oauthClient} onClose={close} />}
    </>
  );
}

const ClientTable = ({ clients, onOpen }: { readonly clients: readonly OAuthClient[]; readonly onOpen: (open: Open) => void }): ReactNode => (
  <Paper withBorder>
    <Table.ScrollContainer minWidth={740}>
      <Table aria-label="OAuth clients">
        <Table.Thead><Table.Tr><Table.Th>Name</Table.Th><Table.Th>Client id</Table.Th><Table.Th>Kind</Table.Th><Table.Th>It may</Table.Th><Table.Th>Created</Table.Th><Table.Th w={130}><VisuallyHidden>Actions</VisuallyHidden></Table.Th></Table.Tr></Table.Thead>
        <Table.Tbody>
          {clients.map((oauthClient) => (
            <Table.Tr key={oauthClient.clientId}>
              <Table.Td maw={200} style={{ overflowWrap: 'anywhere' }}>
                <Text size="sm" fw={500}>{oauthClient.name}</Text>
                {oauthClient.owner !== undefined && <Text size="xs" c="dimmed">acts for {oauthClient.owner}</Text>}
              </Table.Td>
              <Table.Td maw={190} style={{ overflowWrap: 'anywhere' }}><Code>{oauthClient.clientId}</Code></Table.Td>
              <Table.Td maw={260}>
                <Group gap={4}>{oauthClient.public && <Badge variant="light" color="blue" size="sm" tt="none">public</Badge>}<Text size="sm">{isProgram(oauthClient) ? 'A program with tokens of its own' : 'People log in to it'}</Text></Group>
                {oauthClient.redirectUris.map((uri) => <Text key={uri} size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>{uri}</Text>)}
              </Table.Td>
              <Table.Td maw={240}><PermissionBadges of={oauthClient.scopes} /></Table.Td>
              <Table.Td><Time at={oauthClient.createdAt} /></Table.Td>
              <Table.Td>
                <Group gap={6} justify="flex-end">
                  {!oauthClient.public && <Button size="compact-sm" variant="default" aria-label={`New secret for ${oauthClient.name}`} onClick={() => onOpen({ dialog: 'rotate', oauthClient })}>New secret</Button>}
                  <Button size="compact-sm" variant="default" aria-label={`Delete ${oauthClient.name}`} onClick={() => onOpen({ dialog: 'delete', oauthClient })}>Delete</Button>
                </Group>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  </Paper>
);

function DeleteClient({ oauthClient, onClose }: { readonly oauthClient: OAuthClient; readonly onClose: () => void }): ReactNode {
  const { clientId, name } = oauthClient;
  const shop = useShop();
  const client = useQueryClient();
  const isConsole = useSession().clientId === clientId;
  const remove = useChange({
    mutationFn: () => evenIfGone(shop.DELETE('/oauth/clients/{clientId}', { params: { path: { clientId } } })),
    onSuccess: async () => {
      sayDone(`${isolated(name)} is deleted.`);
      onClose();
      await client.invalidateQueries({ queryKey: ['oauthClients'] });
    },
  });
  return (
    <ConfirmDialog title={`Delete ${isolated(name)}?`} action="Delete the client" isOpen isBusy={remove.isPending} error={remove.error} onConfirm={() => remove.mutate()} onClose={onClose}>
      <Text size="sm">{isProgram(oauthClient) ? 'It gets no more tokens, and those that it has are refused within a second.' : 'Users can no longer log in to it, their consents end, and its tokens are refused within a second.'}</Text>
      {isConsole && <Text size="sm" mt="xs" fw={600}>This is the console that you are using. You and everybody else are logged out of it, and nobody can log in again until an operator has set it up anew.</Text>}
    </ConfirmDialog>
  );
}
