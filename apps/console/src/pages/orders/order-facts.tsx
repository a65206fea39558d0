import { Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useMay, useShop } from '../../auth/session.js';
import type { Order } from '../../shop/day.js';
import { usePlantName } from '../../shop/plant-name.js';
import { AnchorLink } from '../../ui/anchor-link.js';
import { Card } from '../../ui/card.js';
import { counted, isolated } from '../../ui/numbers.js';
import { Time } from '../../ui/time.js';

export function OrderFacts({ order: { plantId, quantity, status, owner, placedAt, reservedUntil, shipDate, carrier, trackingNumber, shipTo, id, basketId, externalId, metadata } }: { readonly order: Order }): ReactNode {
  const plantName = usePlantName(plantId);
  const seesOwners = useMay('read:orders');
  const seesPlants = useMay('write:plants', 'write:stock');
  const facts: readonly (readonly [string, ReactNode])[] = [
    ['Plant', <>{seesPlants ? <AnchorLink to="/plants/$plantId" params={{ plantId: String(plantId) }} inherit>{plantName}</AnchorLink> : <bdi>{plantName}</bdi>} · <AnchorLink to="/orders" search={{ plantId }} inherit>all its orders</AnchorLink></>],
    ['Units', counted(quantity, 'unit')],
    ...(seesOwners ? [['Owner', owner === undefined ? 'a deleted user' : <AnchorLink to="/orders" search={{ owner }} inherit>{owner}</AnchorLink>] as const] : []),
    ['Placed', <Time at={placedAt} />],
    ...(basketId === undefined ? [] : [['Basket', <Basket basketId={basketId} orderId={id} />] as const]),
    ...(externalId === undefined ? [] : [['Owner’s reference', externalId] as const]),
    ...(metadata === undefined ? [] : [['Owner’s data', Object.entries(metadata).map(([name, value]) => `${isolated(name)}: ${isolated(value)}`).join(', ')] as const]),
    ...(reservedUntil === undefined ? [] : [['Expires if unpaid', <Time at={reservedUntil} isPlanned />] as const]),
    ...(shipDate === undefined ? [] : [['Requested ship date', <Time at={shipDate} isPlanned />] as const]),
    ...(shipTo === undefined ? [] : [['Ship to', [shipTo.name, ...(shipTo.lines ?? []), [shipTo.postalCode, shipTo.city].filter(Boolean).join(' '), shipTo.country].filter(Boolean).join(', ')] as const]),
    ['Shipment', carrier === undefined ? (status === 'cancelled' || status === 'delivered' ? 'none' : 'none yet') : <>{carrier}, <Text span inherit ff="monospace">{trackingNumber}</Text></>],
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

/** The orders that were placed together. */
function Basket({ basketId, orderId }: { readonly basketId: number; readonly orderId: number }): ReactNode {
  const shop = useShop();
  const { data } = useQuery({ queryKey: ['basket', basketId], queryFn: async ({ signal }) => (await shop.GET('/store/basket/{basketId}', { params: { path: { basketId } }, signal })).data });
  const others = data?.orders.filter(({ id }) => id !== orderId) ?? [];
  return <>{basketId}{others.length > 0 && ', with '}{others.map(({ id }, n) => <span key={id}>{n > 0 && ', '}<AnchorLink to="/orders/$orderId" params={{ orderId: String(id) }} inherit>{id}</AnchorLink></span>)}</>;
}
