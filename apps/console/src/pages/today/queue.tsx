import { Skeleton, Stack, Table, Text } from '@mantine/core';
import { IconTruckDelivery } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { useMay } from '../../auth/session.js';
import { usePlantName } from '../../shop/plant-name.js';
import { AnchorLink } from '../../ui/anchor-link.js';
import { Card } from '../../ui/card.js';
import { EmptyState } from '../../ui/empty-state.js';
import { counted, formatNumber } from '../../ui/numbers.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { Time } from '../../ui/time.js';
import { useUncounted } from '../plants/plants-queries.js';
import type { OpenOrders } from './queries.js';

/** The work that waits: orders to ship, and plants to count. */
export const Queue = (orders: Parameters<typeof ToShip>[0]): ReactNode => <Stack><ToShip {...orders} /><ToCount /></Stack>;

/** The oldest paid orders that are not shipped. */
function ToShip({ open, isFailed }: { readonly open: OpenOrders | undefined; readonly isFailed: boolean }): ReactNode {
  const waiting = open?.waiting ?? [];
  const seesOwners = useMay('read:orders');
  return (
    <Card title="Waiting longest for shipment">
      {!open && (isFailed ? <Text size="sm" c="dimmed">Unknown</Text> : <Skeleton h={80} />)}
      {open && waiting.length === 0 && <EmptyState icon={IconTruckDelivery} title="Nothing to ship" text="Paid orders that are not shipped yet appear here, oldest first." />}
      {waiting.length > 0 && (
        <Table.ScrollContainer minWidth={420}>
          <Table>
            <Table.Thead>
              <Table.Tr><Table.Th>Order</Table.Th><Table.Th>Placed</Table.Th><Table.Th>Plant</Table.Th><Table.Th ta="right">Units</Table.Th>{seesOwners && <Table.Th visibleFrom="sm">Owner</Table.Th>}</Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {waiting.map(({ id, plantId, quantity, placedAt, owner }) => (
                <Table.Tr key={id}>
                  <Table.Td><AnchorLink to="/orders/$orderId" params={{ orderId: String(id) }} inherit>{id}</AnchorLink></Table.Td>
                  <Table.Td style={{ whiteSpace: 'nowrap' }}><Time at={placedAt} /></Table.Td>
                  <Table.Td miw={130}><PlantName plantId={plantId} /></Table.Td>
                  <Table.Td ta="right" className="numbers">{formatNumber(quantity)}</Table.Td>
                  {seesOwners && <Table.Td visibleFrom="sm">{owner ?? <Text span c="dimmed" inherit>–</Text>}</Table.Td>}
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
    </Card>
  );
}

function PlantName({ plantId }: { readonly plantId: number }): ReactNode {
  const name = usePlantName(plantId);
  return <Text inherit lineClamp={3} title={name} style={{ overflowWrap: 'anywhere' }}>{name}</Text>;
}

/** Plants that cannot be sold before somebody counts them: new ones without units, and those whose units a restored database does not know. */
function ToCount(): ReactNode {
  const { data, error } = useUncounted();
  const plants = data?.ids.length ?? 0;
  if (plants === 0) return <ProblemAlert error={error} title="The plants to count could not be loaded" />;
  return (
    <Card title="Plants to count" aside={<AnchorLink to="/plants" search={{ stock: 'uncounted' }} size="sm">Show them</AnchorLink>}>
      <Text size="sm">Nobody has counted the units of {data?.isComplete === true ? '' : 'at least '}{counted(plants, 'plant')}.</Text>
    </Card>
  );
}
