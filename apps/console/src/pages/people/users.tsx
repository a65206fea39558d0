import { Anchor, Button, Center, Group, Paper, Select, Table, TextInput } from '@mantine/core';
import { IconSearch, IconUsers } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { EmptyState } from '../../ui/empty-state.js';
import { Loading } from '../../ui/loading.js';
import { useFilters, useTypedFilter } from '../../ui/page-search.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { peopleSearch, roles } from './people-search.js';
import { type User, useUsers } from './people-reads.js';
import { RoleBadge } from './role-badge.js';

/** Delay after the last keystroke. */
const typingMs = 250;

/** All users, filtered by name and role. */
export function Users(): ReactNode {
  const [{ q, role }, apply] = useFilters(peopleSearch);
  const [typed, type] = useTypedFilter(q ?? '', (text) => apply({ q: text }), typingMs);
  const { data, error, isPending, hasNextPage, isFetchingNextPage, fetchNextPage } = useUsers({ q, role });
  const users = data?.pages.flatMap((page) => page.entries) ?? [];
  return (
    <>
      <Group align="flex-end" mb="sm">
        <TextInput label="Name or e-mail address" leftSection={<IconSearch size={16} />} w={320} value={typed} onChange={({ currentTarget: { value } }) => type(value)} />
        <Select label="Role" placeholder="any" data={[...roles]} value={role ?? null} onChange={(value) => apply({ role: value })} clearable clearButtonProps={{ 'aria-label': 'Any role' }} w={160} />
      </Group>
      <ProblemAlert error={error} title="The users could not be loaded" isShown={data !== undefined} />
      {isPending && <Loading />}
      {data !== undefined && users.length === 0 && <EmptyState icon={IconUsers} title="No user matches" text="The search compares the beginning of usernames, names and last names, and whole e-mail addresses." />}
      {users.length > 0 && <UserTable users={users} />}
      {hasNextPage && <Center mt="md"><Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>Show more</Button></Center>}
    </>
  );
}

const UserTable = ({ users }: { readonly users: readonly User[] }): ReactNode => (
  <Paper withBorder>
    <Table.ScrollContainer minWidth={560}>
      <Table aria-label="Users">
        <Table.Thead><Table.Tr><Table.Th>User</Table.Th><Table.Th>Name</Table.Th><Table.Th>E-mail</Table.Th><Table.Th>Role</Table.Th></Table.Tr></Table.Thead>
        <Table.Tbody>
          {users.map(({ id, username, firstName = '', lastName = '', email, role }) => (
            <Table.Tr key={id}>
              <Table.Td maw={220} style={{ overflowWrap: 'anywhere' }}><Anchor component={Link} to={`/people/${encodeURIComponent(username)}`} size="sm">{username}</Anchor></Table.Td>
              <Table.Td maw={220} style={{ overflowWrap: 'anywhere' }}>{`${firstName} ${lastName}`.trim()}</Table.Td>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>{email}</Table.Td>
              <Table.Td><RoleBadge role={role} /></Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  </Paper>
);
