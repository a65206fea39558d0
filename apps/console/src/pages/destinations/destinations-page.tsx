import { Anchor, Button, Paper, Table, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconDatabaseExport, IconPlus } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useMay } from '../../auth/session.js';
import { EmptyState } from '../../ui/empty-state.js';
import { Loading } from '../../ui/loading.js';
import { PageHeader } from '../../ui/page-header.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { ExplainedBadge } from '../../ui/status-badge.js';
import { EventsOf } from '../webhooks/event-filter.js';
import { type Destination, useDestinations } from './destination-reads.js';
import { statusOf } from './destination-status.js';
import { CreateDestination } from './save-destination.js';

export function DestinationsPage(): ReactNode {
  if (useMay('write:users')) return <Destinations />;
  return (
    <>
      <PageHeader title="Destinations" />
      <EmptyState icon={IconDatabaseExport} title="Only administrators see destinations" text="Your role does not allow managing users. Ask an administrator." />
    </>
  );
}

function Destinations(): ReactNode {
  const { data, error, isPending } = useDestinations();
  const [isCreating, { open, close }] = useDisclosure();
  const newButton = <Button leftSection={<IconPlus size={16} />} onClick={open}>New destination</Button>;
  return (
    <>
      <PageHeader title="Destinations" text="Other systems' message brokers, to which the shop publishes the events of all orders. Supported are streams of NATS JetStream.">{newButton}</PageHeader>
      <ProblemAlert error={error} title="The destinations could not be loaded" isShown={data !== undefined} />
      {isPending && <Loading />}
      {data?.length === 0 && <EmptyState icon={IconDatabaseExport} title="No destinations yet" text="A destination gets every event for teams that have a broker already: a warehouse, an analysis. To begin, create one with the broker’s address and a stream." />}
      {data !== undefined && data.length > 0 && <DestinationTable destinations={data} />}
      {isCreating && <CreateDestination onClose={close} />}
    </>
  );
}

const DestinationTable = ({ destinations }: { readonly destinations: readonly Destination[] }): ReactNode => (
  <Paper withBorder>
    <Table.ScrollContainer minWidth={720}>
      <Table verticalSpacing="sm" aria-label="Destinations">
        <Table.Thead>
          <Table.Tr><Table.Th>Destination</Table.Th><Table.Th>State</Table.Th><Table.Th>Events</Table.Th></Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {destinations.map((destination) => (
            <Table.Tr key={destination.id}>
              <Table.Td maw={340} style={{ overflowWrap: 'anywhere' }}>
                <Anchor component={Link} to={`/destinations/${destination.id}`} size="sm" fw={500}>{destination.name}</Anchor>
                <Text size="xs" c="dimmed">{destination.url} · {destination.stream}</Text>
              </Table.Td>
              <Table.Td maw={360}><StatusOf destination={destination} /></Table.Td>
              <Table.Td><EventsOf filter={destination} /></Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  </Paper>
);

/** Whether events are published, and why not. */
export function StatusOf({ destination }: { readonly destination: Destination }): ReactNode {
  const { label, color, why } = statusOf(destination);
  return <ExplainedBadge label={label} color={color}>{why}</ExplainedBadge>;
}
