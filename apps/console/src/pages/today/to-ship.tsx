import { Table, Text } from '@mantine/core';
import { IconTruckDelivery } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import type { DayFigures } from '../../shop/day.js';
import { AnchorLink } from '../../ui/anchor-link.js';
import { Card } from '../../ui/card.js';
import { EmptyState } from '../../ui/empty-state.js';
import { formatNumber } from '../../ui/numbers.js';
import { Time } from '../../ui/time.js';

const shown = 5;

/** The paid orders that wait longest for somebody to send them. */
export function ToShip({ figures: { toShip, isRead } }: { readonly figures: DayFigures }): ReactNode {
  return (
    <Card title="Wait longest to be shipped">
      {isRead && toShip.length === 0 && <EmptyState icon={IconTruckDelivery} title="Nothing waits" text="Paid orders that nobody has sent yet are listed here, the oldest first." />}
      {toShip.length > 0 && (
        <Table.ScrollContainer minWidth={420}>
          <Table>
            <Table.Thead>
              <Table.Tr><Table.Th>Order</Table.Th><Table.Th>Placed</Table.Th><Table.Th>Plant</Table.Th><Table.Th ta="right">Units</Table.Th><Table.Th>Owner</Table.Th></Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {toShip.slice(0, shown).map(({ id, plantId, quantity, placedAt, owner }) => (
                <Table.Tr key={id}>
                  <Table.Td><AnchorLink to="/orders/$orderId" params={{ orderId: String(id) }}>{id}</AnchorLink></Table.Td>
                  <Table.Td><Time at={placedAt} /></Table.Td>
                  <Table.Td className="numbers">{plantId}</Table.Td>
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
