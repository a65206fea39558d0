import { Button, Center, Group, Paper, SegmentedControl, Table, Title, VisuallyHidden } from '@mantine/core';
import { IconMailFast } from '@tabler/icons-react';
import { getRouteApi } from '@tanstack/react-router';
import { Fragment, type ReactNode, useState } from 'react';
import { EmptyState } from '../../ui/empty-state.js';
import { Loading } from '../../ui/loading.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { Attempts } from './attempts.js';
import { deliveryStates } from './deliveries-search.js';
import { DeliveryRow } from './delivery-row.js';
import { type Delivery, type DeliveryState, useDeliveries, type Webhook } from './webhook-reads.js';

const route = getRouteApi('/webhooks/$webhookId');

const columns = 6;

/** The webhook's deliveries, newest first, updated continuously. */
export function Deliveries({ webhook }: { readonly webhook: Webhook }): ReactNode {
  const { state } = route.useSearch();
  const navigate = route.useNavigate();
  const { data, error, isPending, hasNextPage, isFetchingNextPage, fetchNextPage } = useDeliveries(webhook.id, state);
  const deliveries = data?.pages.flatMap((page) => page.deliveries) ?? [];
  return (
    <section aria-labelledby="deliveries">
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h4" id="deliveries">Deliveries</Title>
        <SegmentedControl
          size="xs"
          aria-label="State of the deliveries"
          data={['all', ...deliveryStates]}
          value={state ?? 'all'}
          onChange={(value) => void navigate({ search: value === 'all' ? {} : { state: value }, replace: true })}
        />
      </Group>
      <ProblemAlert error={error} title="The deliveries could not be loaded" />
      {isPending && <Loading />}
      {data !== undefined && deliveries.length === 0 && <None state={state} />}
      {deliveries.length > 0 && <List webhook={webhook} deliveries={deliveries} />}
      {hasNextPage && <Center mt="md"><Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>Show older</Button></Center>}
    </section>
  );
}

const None = ({ state }: { readonly state: DeliveryState | undefined }): ReactNode => (
  <EmptyState icon={IconMailFast} title={state === undefined ? 'Nothing was sent yet' : `No ${state} deliveries`} text={state === undefined ? 'Send a test event to see whether the receiver answers.' : 'Choose another state to see the others.'} />
);

function List({ webhook, deliveries }: { readonly webhook: Webhook; readonly deliveries: readonly Delivery[] }): ReactNode {
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const toggle = (id: number): void => setOpen((before) => (before.has(id) ? new Set([...before].filter((one) => one !== id)) : new Set([...before, id])));
  return (
    <Paper withBorder>
      <Table.ScrollContainer minWidth={760}>
        <Table aria-labelledby="deliveries">
          <Table.Thead>
            <Table.Tr><Table.Th w={44}><VisuallyHidden>Attempts</VisuallyHidden></Table.Th><Table.Th>State</Table.Th><Table.Th>Event</Table.Th><Table.Th>Last attempt</Table.Th><Table.Th>Answer</Table.Th><Table.Th w={120}><VisuallyHidden>Action</VisuallyHidden></Table.Th></Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {deliveries.map((delivery) => (
              <Fragment key={delivery.id}>
                <DeliveryRow webhook={webhook} delivery={delivery} isOpen={open.has(delivery.id)} onToggle={() => toggle(delivery.id)} />
                {open.has(delivery.id) && <Table.Tr><Table.Td colSpan={columns} id={`attempts-${delivery.id}`}><Attempts delivery={delivery} /></Table.Td></Table.Tr>}
              </Fragment>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Paper>
  );
}
