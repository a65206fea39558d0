import { Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useShop } from '../../auth/session.js';
import type { Order } from '../../shop/day.js';
import { AnchorLink } from '../../ui/anchor-link.js';
import { Card } from '../../ui/card.js';
import { counted } from '../../ui/numbers.js';
import { Time } from '../../ui/time.js';

export function OrderFacts({ order: { plantId, quantity, owner, placedAt, reservedUntil, shipDate, carrier, trackingNumber } }: { readonly order: Order }): ReactNode {
  const shop = useShop();
  const plant = useQuery({ queryKey: ['plant', plantId], queryFn: async ({ signal }) => (await shop.GET('/plant/{plantId}', { params: { path: { plantId } }, signal })).data });
  const facts: readonly (readonly [string, ReactNode])[] = [
    ['Plant', <>{plant.data?.name ?? (plant.error === null ? '…' : 'deleted')} · <AnchorLink to="/orders" search={{ plantId }} inherit>orders of plant {plantId}</AnchorLink></>],
    ['Units', counted(quantity, 'unit')],
    ['Owner', owner === undefined ? 'not told, or deleted' : <AnchorLink to="/orders" search={{ owner }} inherit>{owner}</AnchorLink>],
    ['Placed', <Time at={placedAt} />],
    ...(reservedUntil === undefined ? [] : [['Expires without a payment', <Time at={reservedUntil} />] as const]),
    ...(shipDate === undefined ? [] : [['Wished ship date', <Time at={shipDate} />] as const]),
    ['Shipment', carrier === undefined ? 'none yet' : <>{carrier}, <Text span inherit ff="monospace">{trackingNumber}</Text></>],
  ];
  return (
    <Card title="Details">
      <Table withRowBorders={false} verticalSpacing={4} horizontalSpacing={0} layout="fixed">
        <Table.Tbody>
          {facts.map(([name, value]) => (
            <Table.Tr key={name}><Table.Th scope="row" w={180} fw={500}>{name}</Table.Th><Table.Td style={{ overflowWrap: 'anywhere' }}>{value}</Table.Td></Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Card>
  );
}
