import { Table, Text } from '@mantine/core';
import { IconTruckDelivery } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { usePlantName } from '../../shop/plant-name.js';
import { AnchorLink } from '../../ui/anchor-link.js';
import { Card } from '../../ui/card.js';
import { EmptyState } from '../../ui/empty-state.js';
import { formatNumber } from '../../ui/numbers.js';
import { Time } from '../../ui/time.js';
import type { OpenOrders } from './queries.js';

/** The oldest paid orders that are not shipped. */
export function ToShip({ open }: { readonly open: OpenOrders | undefined }): ReactNode {
  const waiting = open?.waiting ?? [];
  return (
    <Card title="Waiting longest for shipment">
      {open && waiting.length === 0 && <EmptyState icon={IconTruckDelivery} title="Nothing to ship" text="Paid orders that are not shipped yet appear here, oldest first." />}
      {waiting.length > 0 && (
        <Table.ScrollContainer minWidth={420}>
          <Table>
            <Table.Thead>
              <Table.Tr><Table.Th>Order</Table.Th><Table.Th>Placed</Table.Th><Table.Th>Plant</Table.Th><Table.Th ta="right">Units</Table.Th><Table.Th>Owner</Table.Th></Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {waiting.map(({ id, plantId, quantity, placedAt, owner }) => (
                <Table.Tr key={id}>
                  <Table.Td><AnchorLink to="/orders/$orderId" params={{ orderId: String(id) }} inherit>{id}</AnchorLink></Table.Td>
                  <Table.Td><Time at={placedAt} /></Table.Td>
                  <Table.Td><PlantName plantId={plantId} /></Table.Td>
                  <Table.Td ta="right" className="numbers">{formatNumber(quantity)}</Table.Td>
                  <Table.Td>{owner ?? <Text span c="dimmed" inherit>–</Text>}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
    </Card>
  );
}

const PlantName = ({ plantId }: { readonly plantId: number }): ReactNode => usePlantName(plantId);
