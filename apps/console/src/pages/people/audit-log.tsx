import { ActionIcon, Anchor, Button, Center, CopyButton, Group, Paper, Select, Table, Text } from '@mantine/core';
import { IconCheck, IconCopy, IconHistory } from '@tabler/icons-react';
import { ShopProblem } from '@plant-shop/client';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { usePlantName } from '../../shop/plant-name.js';
import { EmptyState } from '../../ui/empty-state.js';
import { Loading } from '../../ui/loading.js';
import { useFilters, useTypedFilter } from '../../ui/page-search.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { Time } from '../../ui/time.js';
import { TimeInput } from '../../ui/time-input.js';
import { UserField } from '../../ui/user-field.js';
import { AuditExport } from './audit-export.js';
import { actorText, audited, credentialText, targetOf, wordsOf } from './audited.js';
import { type AuditEntry, useApplicationNames, useAudit } from './people-reads.js';
import { peopleSearch } from './people-search.js';

/** Delay after the last keystroke. */
const typingMs = 400;

/** The audit log, newest first. */
export function AuditLog(): ReactNode {
  const [{ by, operation, from, to }, apply] = useFilters(peopleSearch);
  const [typed, type] = useTypedFilter(by ?? '', (text) => apply({ by: text }), typingMs);
  const filter = { by, operation, from, to };
  const { data, error, isPending, hasNextPage, isFetchingNextPage, fetchNextPage } = useAudit(filter);
  const entries = data?.pages.flatMap((page) => page.entries) ?? [];
  const isFiltered = Object.values(filter).some((one) => one !== undefined);
  // Also while the name is being typed.
  const isNobody = by !== undefined && error instanceof ShopProblem && error.is('user-not-found');
  return (
    <>
      <Group align="flex-end" mb="sm" role="search" aria-label="Filters">
        <UserField label="Done by" placeholder="Anyone" w={220} value={typed} onChange={type} />
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
        <TimeInput label="From" w={190} value={from} onChange={(time) => apply({ from: time })} />
        <TimeInput label="Before" after={from} w={190} value={to} onChange={(time) => apply({ to: time })} />
        <AuditExport filter={filter} />
      </Group>
      {isNobody ? <EmptyState icon={IconHistory} title={`No user is called ${by}`} text="Choose a name of the list, or write the whole name." /> : <ProblemAlert error={error} title="The audit log could not be loaded" />}
      {isPending && <Loading />}
      {data !== undefined && entries.length === 0 && error === null && <EmptyState icon={IconHistory} title={isFiltered ? 'No entry matches' : 'No entries'} text={isFiltered ? 'Clear a filter to see more.' : 'Actions that needed a permission are listed here, such as setting stock, cancelling a customer’s order or changing a role.'} />}
      {error === null && entries.length > 0 && <EntryTable entries={entries} />}
      {error === null && hasNextPage && <Center mt="md"><Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>Show older</Button></Center>}
    </>
  );
}

function EntryTable({ entries }: { readonly entries: readonly AuditEntry[] }): ReactNode {
  const applications = useApplicationNames();
  return (
    <Paper withBorder>
      <Table.ScrollContainer minWidth={700}>
        <Table aria-label="Audit log">
          <Table.Thead><Table.Tr><Table.Th>When</Table.Th><Table.Th>Who</Table.Th><Table.Th>What</Table.Th><Table.Th>To</Table.Th><Table.Th>Before → after</Table.Th><Table.Th>With</Table.Th><Table.Th>Request</Table.Th></Table.Tr></Table.Thead>
          <Table.Tbody>
            {entries.map((entry) => (
              <Table.Tr key={`${entry.operation}-${entry.id}`}>
                <Table.Td style={{ whiteSpace: 'nowrap' }}><Time at={entry.at} /></Table.Td>
                <Table.Td miw={90} style={{ overflowWrap: 'anywhere' }}><Who entry={entry} /></Table.Td>
                <Table.Td>{wordsOf(entry.operation)}</Table.Td>
                <Table.Td maw={260} style={{ overflowWrap: 'anywhere' }}><Text span size="sm" lineClamp={3}><Target entry={entry} applications={applications} /></Text></Table.Td>
                <Table.Td>{targetOf(entry, applications).change ?? <Text size="sm" c="dimmed" title="Not recorded">–</Text>}</Table.Td>
                <Table.Td>
                  {entry.credentials.map((credential) => <Text key={credential.id ?? credential.kind} size="sm" title={credential.id}>{credentialText(credential, applications)}</Text>)}
                  {entry.otherCredentials?.map((credential) => <Text key={credential.id} size="xs" c="dimmed">also presented: {credentialText(credential, applications)} of {actorText(credential)}</Text>)}
                </Table.Td>
                <Table.Td><RequestId id={entry.requestId} /></Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Paper>
  );
}

/** Long, and wanted only in the logs of the shop. */
const RequestId = ({ id }: { readonly id: string }): ReactNode => (
  <CopyButton value={id}>
    {({ copied, copy }) => <ActionIcon variant="default" size="md" aria-label={copied ? 'Copied' : `Copy the id of the request, ${id}`} title={id} onClick={copy}>{copied ? <IconCheck size={16} /> : <IconCopy size={16} />}</ActionIcon>}
  </CopyButton>
);

function Who({ entry }: { readonly entry: AuditEntry }): ReactNode {
  if (entry.username === undefined) return <Text size="sm" c="dimmed" title={entry.subject}>{actorText(entry)}</Text>;
  return <Anchor component={Link} to={`/people/${encodeURIComponent(entry.username)}`} size="sm">{entry.username}</Anchor>;
}

function Target({ entry, applications }: { readonly entry: AuditEntry; readonly applications: ReadonlyMap<string, string> }): ReactNode {
  const { text, path } = targetOf(entry, applications);
  if (path === undefined) return text;
  const plantId = /^\/plants\/(\d+)$/.exec(path)?.[1];
  return <Anchor component={Link} to={path} size="sm">{plantId === undefined ? text : <PlantName plantId={Number(plantId)} />}</Anchor>;
}

const PlantName = ({ plantId }: { readonly plantId: number }): ReactNode => usePlantName(plantId);
