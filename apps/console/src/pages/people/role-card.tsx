import { Alert, Button, Group, Paper, Select, Text, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { usePerson, useShop } from '../../auth/session.js';
import { ConfirmDialog } from '../../ui/confirm-dialog.js';
import { sayDone } from '../../ui/done.js';
import { useChange } from '../../ui/use-change.js';
import type { Role } from './people-reads.js';
import { roles } from './people-search.js';
import { RoleBadge, roleTexts } from './role-badge.js';

export function RoleCard({ username, role, etag }: { readonly username: string; readonly role: Role; readonly etag: string | undefined }): ReactNode {
  const shop = useShop();
  const client = useQueryClient();
  const isSelf = usePerson().username === username;
  const [chosen, setChosen] = useState<Role>();
  const wanted = chosen ?? role;
  const [isAsking, { open, close }] = useDisclosure();
  // As it was when the question was asked.
  const [asked, setAsked] = useState({ role, etag, isRefused: false });
  const seen = asked.isRefused ? etag : asked.etag;
  const change = useChange({
    isRepeatable: true,
    mutationFn: () => shop.PUT('/user/{username}/role', { params: { path: { username }, header: seen === undefined ? {} : { 'If-Match': seen } }, body: { role: wanted } }),
    onSuccess: () => {
      sayDone(`${username} is ${article(wanted)} now.`);
      setChosen(undefined);
      close();
    },
    // What was refused is said, and the next attempt is meant for what the page shows then.
    onError: () => setAsked((one) => ({ ...one, isRefused: true })),
    onSettled: () => Promise.all([client.invalidateQueries({ queryKey: ['user', username] }), client.invalidateQueries({ queryKey: ['users'] })]),
  });
  // The answer was lost, or somebody else has done the same.
  const isDone = isAsking && change.isError && chosen === role;
  useEffect(() => {
    if (!isDone) return;
    sayDone(`${username} is ${article(role)} now.`);
    setChosen(undefined);
    close();
  }, [isDone, username, role, close]);
  return (
    <Paper withBorder p="md" mb="md" component="section" aria-labelledby="role">
      <Group gap="xs" mb="xs"><Title order={2} size="h4" id="role">Role</Title><RoleBadge role={role} /></Group>
      <Group align="flex-end">
        <Select label="New role" data={[...roles]} value={wanted} allowDeselect={false} onChange={(value) => setChosen(roles.find((one) => one === value))} w={180} />
        <Button variant="default" disabled={wanted === role} onClick={() => {
          change.reset();
          setAsked({ role, etag, isRefused: false });
          open();
        }}>Change the role</Button>
        <Text size="sm" c="dimmed" mb={8}>May do: {roleTexts[wanted]}.</Text>
      </Group>
      <ConfirmDialog title={`Make ${username} ${article(wanted)}?`} action="Change the role" isOpen={isAsking} isBusy={change.isPending} error={change.error} onConfirm={() => change.mutate()} onClose={close}>
        {asked.role !== role && !change.isPending && <Alert color="yellow" variant="light" role="alert" mb="xs" title="The role has changed meanwhile">Someone else has made {username} {article(role)}.</Alert>}
        <Text size="sm">At present {username} is {article(role)}. Within a second, every session, API key and application of {username} may do what {article(wanted)} may: {roleTexts[wanted]}.</Text>
        {roles.indexOf(wanted) > roles.indexOf(role) && <Text size="sm" mt="xs">Applications in which {username} is logged in, this console too, show what is new after the next log-in.</Text>}
        {isSelf && <Text size="sm" mt="xs" fw={600}>This is your own account: you may lose the permission to undo it.</Text>}
      </ConfirmDialog>
    </Paper>
  );
}

const article = (role: Role): string => ({ customer: 'a customer', staff: 'staff', admin: 'an admin' })[role];
