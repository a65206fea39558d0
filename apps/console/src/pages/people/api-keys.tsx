import { Button, Code, Group, Paper, Table, Text, Title, VisuallyHidden } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
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
import { NewApiKey } from './new-api-key.js';
import { type ApiKey, useApiKeys } from './people-reads.js';
import { PermissionBadges } from './permissions.js';
import { RotateApiKey } from './rotate-api-key.js';

type Open = { readonly dialog: 'new' } | { readonly dialog: 'rotate' | 'revoke'; readonly apiKey: ApiKey; readonly called: string };

export function ApiKeys({ username }: { readonly username: string }): ReactNode {
  const { data: apiKeys, error, isPending } = useApiKeys(username);
  const [open, setOpen] = useState<Open>();
  const close = (): void => setOpen(undefined);
  return (
    <Paper withBorder mb="md" component="section" aria-labelledby="api-keys">
      <Group justify="space-between" p="md" pb="xs">
        <Title order={2} size="h4" id="api-keys">API keys</Title>
        <Button size="xs" leftSection={<IconPlus size={14} />} onClick={() => setOpen({ dialog: 'new' })}>New API key</Button>
      </Group>
      <ProblemAlert error={error} title="The API keys could not be loaded" isShown={apiKeys !== undefined} />
      {isPending && <Loading />}
      {apiKeys?.length === 0 && <Text size="sm" c="dimmed" p="md" pt={0}>No API keys. A program that acts for {username} needs one.</Text>}
      {apiKeys !== undefined && apiKeys.length > 0 && <KeyTable apiKeys={apiKeys} onOpen={setOpen} />}
      {open?.dialog === 'new' && <NewApiKey username={username} onClose={close} />}
      {open?.dialog === 'rotate' && <RotateApiKey username={username} apiKey={open.apiKey} called={open.called} onClose={close} />}
      {open?.dialog === 'revoke' && <RevokeApiKey username={username} apiKey={open.apiKey} called={open.called} onClose={close} />}
    </Paper>
  );
}

/** A key that replaced another has its name. */
function calledOf({ name, prefix, createdAt }: ApiKey, apiKeys: readonly ApiKey[]): string {
  const others = apiKeys.filter((one) => one.name === name && one.prefix !== prefix);
  const age = others.length === 0 ? '' : others.every((one) => one.createdAt < createdAt) ? ', the new key' : ', the old key';
  return `${isolated(name)} (${prefix}${age})`;
}

const KeyTable = ({ apiKeys, onOpen }: { readonly apiKeys: readonly ApiKey[]; readonly onOpen: (open: Open) => void }): ReactNode => (
  <Table.ScrollContainer minWidth={760}>
    <Table aria-labelledby="api-keys">
      <Table.Thead><Table.Tr><Table.Th>Name</Table.Th><Table.Th>Begins with</Table.Th><Table.Th>Permissions</Table.Th><Table.Th>Created</Table.Th><Table.Th>Last used</Table.Th><Table.Th>Expires</Table.Th><Table.Th w={170}><VisuallyHidden>Actions</VisuallyHidden></Table.Th></Table.Tr></Table.Thead>
      <Table.Tbody>
        {apiKeys.map((apiKey) => (
          <Table.Tr key={apiKey.id}>
            <Table.Td maw={200} style={{ overflowWrap: 'anywhere' }}>{apiKey.name}</Table.Td>
            <Table.Td><Code>{apiKey.prefix}</Code></Table.Td>
            <Table.Td maw={260}><PermissionBadges of={apiKey.permissions} /></Table.Td>
            <Table.Td><Time at={apiKey.createdAt} /></Table.Td>
            <Table.Td>{apiKey.lastUsedAt === undefined ? 'never' : <Time at={apiKey.lastUsedAt} />}</Table.Td>
            <Table.Td>{apiKey.expiresAt === undefined ? 'never' : <Time at={apiKey.expiresAt} isPlanned />}</Table.Td>
            <Table.Td>
              <Group gap={6} wrap="nowrap">
                <Button size="compact-sm" variant="default" disabled={apiKey.expiresAt !== undefined && Date.parse(apiKey.expiresAt) <= Date.now()} aria-label={`Replace ${calledOf(apiKey, apiKeys)}`} onClick={() => onOpen({ dialog: 'rotate', apiKey, called: calledOf(apiKey, apiKeys) })}>Replace</Button>
                <Button size="compact-sm" variant="default" aria-label={`Revoke ${calledOf(apiKey, apiKeys)}`} onClick={() => onOpen({ dialog: 'revoke', apiKey, called: calledOf(apiKey, apiKeys) })}>Revoke</Button>
              </Group>
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  </Table.ScrollContainer>
);

function RevokeApiKey({ username, apiKey: { id: apiKeyId }, called, onClose }: { readonly username: string; readonly apiKey: ApiKey; readonly called: string; readonly onClose: () => void }): ReactNode {
  const shop = useShop();
  const client = useQueryClient();
  const revoke = useChange({
    mutationFn: () => evenIfGone(shop.DELETE('/user/{username}/apiKeys/{apiKeyId}', { params: { path: { username, apiKeyId } } })),
    onSuccess: async () => {
      sayDone('The API key is revoked.');
      onClose();
      await client.invalidateQueries({ queryKey: ['user', username, 'apiKeys'] });
    },
  });
  return (
    <ConfirmDialog title={`Revoke ${called}?`} action="Revoke the API key" isOpen isBusy={revoke.isPending} error={revoke.error} onConfirm={() => revoke.mutate()} onClose={onClose}>
      <Text size="sm">Programs that use the key are refused within a second. This cannot be undone. To switch without interruption, replace the key instead.</Text>
    </ConfirmDialog>
  );
}
