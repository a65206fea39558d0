import { Badge } from '@mantine/core';
import type { ReactNode } from 'react';
import { type Order, stateOf } from '../../shop/day.js';
import { formatNumber } from '../../ui/numbers.js';
import { StatusBadge } from '../../ui/status-badge.js';
import { Time } from '../../ui/time.js';
import { PlantPicture } from '../plants/plant-picture.js';
import type { OrderTab } from './order-filter.js';
import classes from './order-table.module.css';

export interface Column {
  readonly name: string;
  readonly isNumber?: true;
  /** Of the narrowest column in which nothing is cut, in pixels; those of longer texts end in an ellipsis. */
  readonly width: number;
  /** Of the room that is left, by default 1. */
  readonly share?: number;
  readonly cell: (order: Order) => ReactNode;
}

const plant: Column = { name: 'Plant', width: 116, share: 2, cell: (order) => <PlantCell order={order} /> };
const units: Column = { name: 'Units', isNumber: true, width: 60, share: 0, cell: ({ quantity }) => formatNumber(quantity) };
const placed: Column = { name: 'Placed', width: 80, cell: ({ placedAt }) => <Time at={placedAt} /> };
const owner: Column = { name: 'Owner', width: 56, cell: ({ owner: name }) => name ?? '–' };
const status: Column = { name: 'Status', width: 94, cell: (order) => <StatusBadge status={stateOf(order)} /> };
const shipment: Column = { name: 'Carrier', width: 64, cell: ({ carrier, trackingNumber }) => (carrier === undefined ? '–' : `${carrier} ${trackingNumber ?? ''}`) };
const refund: Column = { name: 'Refund', width: 88, cell: (order) => (order.refund === undefined ? '–' : <Badge variant="light" color={order.refund === 'due' ? 'orange' : 'gray'} tt="none">{order.refund}</Badge>) };
const expires: Column = { name: 'Expires', width: 80, cell: ({ reservedUntil }) => <Time at={reservedUntil} isPlanned /> };
const shipTo: Column = { name: 'Ship to', width: 90, cell: (order) => [order.shipTo?.city, order.shipTo?.country].filter((one) => one !== undefined).join(', ') || '–' };

const own: Readonly<Record<OrderTab, readonly Column[]>> = {
  'to-ship': [shipTo],
  awaiting: [expires],
  shipped: [shipment],
  refund: [status],
  all: [status, shipment, refund],
};

/** What a tab shows, the most important first: a phone has room for four columns. */
export const columnsOf = (tab: OrderTab, seesAll: boolean): readonly Column[] => [plant, units, placed, ...(seesAll ? [owner] : []), ...own[tab]];

function PlantCell({ order: { plant: found, plantId } }: { readonly order: Order }): ReactNode {
  const name = found?.name ?? `Plant ${plantId} (deleted)`;
  return (
    <div className={classes['plant']}>
      <PlantPicture photoUrls={found?.photoUrls ?? []} isSmall />
      <span className={classes['name']} title={name}>{name}</span>
    </div>
  );
}
