import { Button, Center, Checkbox, Group, Paper, SegmentedControl, Table, Text, Title, VisuallyHidden } from '@mantine/core';
import { IconMailFast } from '@tabler/icons-react';
import { Fragment, type ReactNode, useState } from 'react';
import { useShop } from '../../auth/session.js';
import { EmptyState } from '../../ui/empty-state.js';
import { Loading } from '../../ui/loading.js';
import { formatNumber } from '../../ui/numbers.js';
import { useFilters } from '../../ui/page-search.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { deliveriesSearch, deliveryStates } from './webhooks-search.js';
import { DeliveryDetails } from './delivery-details.js';
import { DeliveryRow } from './delivery-row.js';
import { ResendDialog, ResendFailed } from './resend-dialog.js';
import { mostResent, ResendRun } from './resend-run.js';
import { type Delivery, type DeliveryState, isOwn, useDeliveries, useRecentDeliveries, type Webhook } from './webhook-reads.js';

/** What is selected, by webhook: it stays while others come, other states are shown, and on the way back from an order. */
const selections = new Map<string, ReadonlyMap<number, Delivery>>();

/** The webhook's deliveries, newest first, updated continuously. */
export function Deliveries({ webhook }: { readonly webhook: Webhook }): ReactNode {
  const [{ state }, apply] = useFilters(deliveriesSearch);
  const { data, error, isPending, hasNextPage, isFetchingNextPage, fetchNextPage } = useDeliveries(webhook.id, state);
  // The health above the list may have been read after it.
  const { data: recentOnes = [] } = useRecentDeliveries(webhook.id);
  const isNewer = state === undefined && recentOnes.length > 0;
  const [isFinding, setFinding] = useState(false);
  const deliveries = data?.pages.flatMap((page) => page.deliveries) ?? [];
  return (
    <section aria-labelledby="deliveries">
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h4" id="deliveries">Deliveries</Title>
        {isOwn(webhook) && <Button size="xs" variant="default" ml="auto" onClick={() => setFinding(true)}>Send again what failed</Button>}
        <SegmentedControl
          size="xs"
          aria-label="State of the deliveries"
          data={['all', ...deliveryStates]}
          value={state ?? 'all'}
          onChange={(value) => apply({ state: value })}
        />
      </Group>
      {isFinding && <ResendFailed webhook={webhook} onClose={() => setFinding(false)} />}
      <ProblemAlert error={error} title="The deliveries could not be loaded" isShown={deliveries.length > 0} />
      {(isPending || (deliveries.length === 0 && isNewer)) && <Loading />}
      {data !== undefined && deliveries.length === 0 && !isNewer && <None state={state} mayUse={isOwn(webhook)} />}
      {deliveries.length > 0 && <List webhook={webhook} deliveries={deliveries} />}
      {hasNextPage && <Center mt="md"><Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>Show older</Button></Center>}
    </section>
  );
}

const None = ({ state, mayUse }: { readonly state: DeliveryState | undefined; readonly mayUse: boolean }): ReactNode => (
  <EmptyState icon={IconMailFast} title={state === undefined ? 'Nothing was sent yet' : `No ${state} deliveries`} text={state !== undefined ? 'Choose another state to see the others.' : mayUse ? 'Send a test event to see whether the receiver answers.' : 'No event has matched it so far.'} />
);

function List({ webhook, deliveries }: { readonly webhook: Webhook; readonly deliveries: readonly Delivery[] }): ReactNode {
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const [selected, setState] = useState(selections.get(webhook.id) ?? new Map<number, Delivery>());
  const setSelected = (all: readonly Delivery[]): void => {
    const map = new Map(all.map((one) => [one.id, one]));
    selections.set(webhook.id, map);
    setState(map);
  };
  const [run, setRun] = useState<ResendRun>();
  const shop = useShop();
  const mayUse = isOwn(webhook);
  const loaded = new Map(deliveries.map((one) => [one.id, one]));
  const all = [...selected.values()].map((one) => loaded.get(one.id) ?? one);
  const chosen = all.slice(0, mostResent);
  const shown = all.filter(({ id }) => loaded.has(id)).length;
  return (
    <>
    {mayUse && <Group gap="xs" mb="xs" mih={30} role="group" aria-label="Selected deliveries">
      <Text size="sm" role="status" {...(chosen.length === 0 && { c: 'dimmed' })}>{chosen.length === 0 ? 'Select deliveries to send several again.' : `${formatNumber(all.length)} selected${all.length > mostResent ? `: at most ${formatNumber(mostResent)} are sent at once` : ''}`}</Text>
      {chosen.length > 0 && <Button size="xs" onClick={() => setRun(new ResendRun(shop, webhook.id, chosen))}>Send them again</Button>}
      {chosen.length > 0 && <Button size="xs" variant="subtle" onClick={() => setSelected([])}>Select none</Button>}
    </Group>}
    {run && (
      <ResendDialog
        webhook={webhook}
        run={run}
        note={run.isMerged ? 'Deliveries of the same event count once.' : ''}
        onClose={() => {
          // What was not sent stays selected.
          const sent = new Set(run.state.get().rows.filter(({ state }) => state === 'scheduled').map(({ delivery }) => delivery.eventId));
          setSelected(all.filter(({ eventId }) => !sent.has(eventId)));
          setRun(undefined);
        }}
      />
    )}
    <Paper withBorder>
      <Table.ScrollContainer minWidth={760}>
        <Table aria-labelledby="deliveries">
          <Table.Thead>
            <Table.Tr>{mayUse && <Table.Th w={36}><Checkbox size="xs" aria-label="Select all that are shown" checked={shown === deliveries.length} indeterminate={shown > 0 && shown < deliveries.length} onChange={() => setSelected(shown === deliveries.length ? all.filter(({ id }) => !loaded.has(id)) : [...all, ...deliveries])} /></Table.Th>}<Table.Th w={44}><VisuallyHidden>Attempts</VisuallyHidden></Table.Th><Table.Th>State</Table.Th><Table.Th>Event</Table.Th><Table.Th>Last attempt</Table.Th><Table.Th>Answer</Table.Th>{mayUse && <Table.Th w={120}><VisuallyHidden>Action</VisuallyHidden></Table.Th>}</Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {deliveries.map((delivery) => (
              <Fragment key={delivery.id}>
                <DeliveryRow webhook={webhook} delivery={delivery} isOpen={open.has(delivery.id)} isSelected={selected.has(delivery.id)} onToggle={() => setOpen(toggled(open, delivery.id))} onSelect={() => setSelected(selected.has(delivery.id) ? all.filter(({ id }) => id !== delivery.id) : [...all, delivery])} />
                {open.has(delivery.id) && <Table.Tr><Table.Td colSpan={mayUse ? 7 : 5} id={`attempts-${delivery.id}`}><DeliveryDetails webhook={webhook} delivery={delivery} /></Table.Td></Table.Tr>}
              </Fragment>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Paper>
    </>
  );
}

const toggled = (ids: ReadonlySet<number>, id: number): ReadonlySet<number> => (ids.has(id) ? new Set([...ids].filter((one) => one !== id)) : new Set([...ids, id]));
