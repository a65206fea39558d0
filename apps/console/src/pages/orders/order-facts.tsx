import { Table, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useMay } from '../../auth/session.js';
import type { Order } from '../../shop/day.js';
import { usePlantName } from '../../shop/plant-name.js';
import { AnchorLink } from '../../ui/anchor-link.js';
import { Card } from '../../ui/card.js';
import { counted } from '../../ui/numbers.js';
import { Time } from '../../ui/time.js';

export function OrderFacts({ order: { plantId, quantity, status, owner, placedAt, reservedUntil, shipDate, carrier, trackingNumber, shipTo } }: { readonly order: Order }): ReactNode {
  const plantName = usePlantName(plantId);
  const seesOwners = useMay('read:orders');
  const seesPlants = useMay('write:plants', 'write:stock');
  const facts: readonly (readonly [string, ReactNode])[] = [
    ['Plant', <>{seesPlants ? <AnchorLink to="/plants/$plantId" params={{ plantId: String(plantId) }} inherit>{plantName}</AnchorLink> : <bdi>{plantName}</bdi>} · <AnchorLink to="/orders" search={{ plantId }} inherit>all its orders</AnchorLink></>],
    ['Units', counted(quantity, 'unit')],
    ...(seesOwners ? [['Owner', owner === undefined ? 'a deleted user' : <AnchorLink to="/orders" search={{ owner }} inherit>{owner}</AnchorLink>] as const] : []),
    ['Placed', <Time at={placedAt} />],
    ...(reservedUntil === undefined ? [] : [['Expires if unpaid', <Time at={reservedUntil} isPlanned />] as const]),
    ...(shipDate === undefined ? [] : [['Requested ship date', <Time at={shipDate} isPlanned />] as const]),
    ...(shipTo === undefined ? [] : [['Ship to', [shipTo.name, ...(shipTo.lines ?? []), [shipTo.postalCode, shipTo.city].filter(Boolean).join(' '), shipTo.country].filter(Boolean).join(', ')] as const]),
    ['Shipment', carrier === undefined ? (status === 'cancelled' ? 'none' : 'none yet') : <>{carrier}, <Text span inherit ff="monospace">{trackingNumber}</Text></>],
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
