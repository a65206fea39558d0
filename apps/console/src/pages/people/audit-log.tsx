import { Anchor, Button, Center, Group, Paper, Select, Table, Text } from '@mantine/core';
import { IconHistory } from '@tabler/icons-react';
import { ShopProblem } from '@plant-shop/client';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { EmptyState } from '../../ui/empty-state.js';
import { Loading } from '../../ui/loading.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { Time } from '../../ui/time.js';
import { useAppliedSoon } from '../../ui/use-applied-soon.js';
import { UserField } from '../../ui/user-field.js';
import { audited, wordsOf } from './audited.js';
import { type AuditEntry, useAudit } from './people-reads.js';
import { type PeopleSearch, peopleSearch } from './people-search.js';

const route = getRouteApi('/people');
/** Delay after the last keystroke. */
const typingMs = 400;

/** The audit log, newest first. */
export function AuditLog(): ReactNode {
  const { by, operation } = route.useSearch();
  const navigate = route.useNavigate();
  const [typedBy, setTypedBy] = useState(by ?? '');
  const apply = (change: Readonly<Record<string, unknown>>): void => void navigate({ search: (before: PeopleSearch) => peopleSearch({ ...before, ...change }), replace: true });
  const applySoon = useAppliedSoon(apply, typingMs);
  const { data, error, isPending, hasNextPage, isFetchingNextPage, fetchNextPage } = useAudit({ by, operation });
  const entries = data?.pages.flatMap((page) => page.entries) ?? [];
  // Also while the name is being typed.
  const isNobody = by !== undefined && error instanceof ShopProblem && error.is('user-not-found');
  return (
    <>
      <Group align="flex-end" mb="sm">
        <UserField label="Done by" placeholder="username" w={220} value={typedBy} onChange={(typed) => {
          setTypedBy(typed);
          applySoon({ by: typed.trim() });
        }} />
        <Select
          label="What"
          placeholder="anything"
          w={300}
          maw="100%"
          searchable
          clearable
          clearButtonProps={{ 'aria-label': 'Anything' }}
          nothingFoundMessage="Nothing like this is recorded."
          data={[...new Set([...Object.keys(audited), ...(operation === undefined ? [] : [operation])])].map((value) => ({ value, label: wordsOf(value) })).sort((one, other) => one.label.localeCompare(other.label))}
          value={operation ?? null}
          onChange={(value) => apply({ operation: value ?? undefined })}
        />
      </Group>
      {isNobody ? <EmptyState icon={IconHistory} title={`No user is called ${by}`} text="Choose a name of the list, or write the whole username." /> : <ProblemAlert error={error} title="The audit log could not be loaded" />}
      {isPending && <Loading />}
      {data !== undefined && entries.length === 0 && error === null && <EmptyState icon={IconHistory} title="No entries" text="Actions that needed a permission are listed here, such as setting stock, cancelling a customer’s order or changing a role." />}
      {error === null && entries.length > 0 && <EntryTable entries={entries} />}
      {error === null && hasNextPage && <Center mt="md"><Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>Show older</Button></Center>}
    </>
  );
}

const EntryTable = ({ entries }: { readonly entries: readonly AuditEntry[] }): ReactNode => (
  <Paper withBorder>
    <Table.ScrollContainer minWidth={760}>
      <Table aria-label="Audit log">
        <Table.Thead><Table.Tr><Table.Th>When</Table.Th><Table.Th>Who</Table.Th><Table.Th>What</Table.Th><Table.Th>To</Table.Th><Table.Th>By</Table.Th><Table.Th>Request</Table.Th></Table.Tr></Table.Thead>
        <Table.Tbody>
          {entries.map((entry) => (
            <Table.Tr key={`${entry.operation}-${entry.id}`}>
              <Table.Td style={{ whiteSpace: 'nowrap' }}><Time at={entry.at} /></Table.Td>
              <Table.Td><Who entry={entry} /></Table.Td>
              <Table.Td>{wordsOf(entry.operation)}</Table.Td>
              <Table.Td maw={260} style={{ overflowWrap: 'anywhere' }}>{entry.target}</Table.Td>
              <Table.Td>
                {entry.credentials.map(({ kind, id }) => <Text key={id ?? kind} size="sm" title={id}>{kind}</Text>)}
                {entry.otherCredentials?.map(({ kind, id, subject, username }) => <Text key={id} size="xs" c="dimmed">also presented: {kind} of {username ?? `a deleted user (${subject})`}</Text>)}
              </Table.Td>
              <Table.Td maw={180}><Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>{entry.requestId}</Text></Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  </Paper>
);

function Who({ entry: { subject, username } }: { readonly entry: AuditEntry }): ReactNode {
  if (username !== undefined) return <Anchor component={Link} to={`/people/${encodeURIComponent(username)}`} size="sm">{username}</Anchor>;
  return <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>{subject === undefined ? 'an operator' : `a deleted user (${subject})`}</Text>;
}
