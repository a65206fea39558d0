import type { components, ListQuery } from '@plant-shop/client';
import { mostSearched } from '../../ui/page-search.js';
import type { Order, OrderStatus } from '../../shop/day.js';
import { type OrderFilter, type OrderTab, statusesOf } from './order-filter.js';

/** The filter of a page, whose tab is known. */
export type TabFilter = OrderFilter & { readonly tab: OrderTab };

export type Counts = components['schemas']['OrderCounts'];

interface Tab {
  readonly label: string;
  readonly status?: OrderStatus;
  readonly shipped?: boolean;
  readonly refund?: 'due';
  /** Where people wait, who has waited longest comes first. */
  readonly isOldestFirst: boolean;
  /** Why it may be empty. */
  readonly empty: readonly [title: string, text: string];
}

export const tabs: Readonly<Record<OrderTab, Tab>> = {
  'to-ship': { label: 'To ship', status: 'approved', shipped: false, isOldestFirst: true, empty: ['Nothing to ship', 'Paid orders appear here until they are shipped, the oldest first.'] },
  awaiting: { label: 'Awaiting payment', status: 'placed', isOldestFirst: true, empty: ['No order awaits its payment', 'New orders appear here until they are paid or expire.'] },
  shipped: { label: 'Shipped', status: 'approved', shipped: true, isOldestFirst: false, empty: ['No order is on its way', 'Shipped orders appear here until their delivery is reported.'] },
  refund: { label: 'Refund due', refund: 'due', isOldestFirst: true, empty: ['No refund is due', 'Cancelled orders appear here if their payment must be returned.'] },
  all: { label: 'All', isOldestFirst: false, empty: ['There are no orders yet', 'Orders appear here as they are placed.'] },
};

/** The tab of an address. @param worksHere whether the user ships orders */
export const tabOf = (filter: OrderFilter, worksHere: boolean): OrderTab => filter.tab ?? (worksHere && Object.keys(filter).length === 0 ? 'to-ship' : 'all');

export const isOldestFirst = ({ tab, sort }: TabFilter): boolean => (sort === undefined ? tabs[tab].isOldestFirst : sort === 'placedAt');

/** The orders of all tabs. @param seesAll whether the user may read all orders */
export const toCountQuery = ({ q, plantId, owner, from, before }: OrderFilter, seesAll: boolean): Pick<ListQuery<'/store/order'>, 'owner' | 'q' | 'plantId' | 'placedFrom' | 'placedBefore'> => ({
  ...(seesAll && { owner: owner ?? '*' }),
  ...(q !== undefined && { q: q.slice(0, mostSearched) }),
  ...(plantId !== undefined && { plantId }),
  ...(from !== undefined && { placedFrom: from }),
  ...(before !== undefined && { placedBefore: before }),
});

/** The statuses of a tab's orders; none: any. @param chosen those chosen in the tab with all orders */
function statusesIn(tab: OrderTab, chosen: string | undefined): readonly OrderStatus[] {
  const { status } = tabs[tab];
  return status === undefined ? statusesOf(chosen) : [status];
}

/** The orders of one tab, as its list shows them. */
export function toQuery(filter: TabFilter, seesAll: boolean): ListQuery<'/store/order'> {
  const { shipped, refund } = tabs[filter.tab];
  const statuses = statusesIn(filter.tab, filter.status);
  return {
    ...toCountQuery(filter, seesAll),
    ...(statuses.length > 0 && { status: [...statuses] }),
    ...(shipped !== undefined && { shipped }),
    ...(refund && { refund }),
    sort: isOldestFirst(filter) ? 'placedAt' : '-placedAt',
    expand: ['plant'],
  };
}

/** How many orders a tab has. @param status the statuses chosen in the tab with all orders */
export function countOf({ counts }: Counts, tab: OrderTab, status?: string): number {
  const { shipped, refund } = tabs[tab];
  const statuses = statusesIn(tab, status);
  return counts
    .filter((one) => (statuses.length === 0 || statuses.includes(one.status)) && (shipped === undefined || one.shipped === shipped) && (refund === undefined || one.refund === refund))
    .reduce((sum, { orders }) => sum + orders, 0);
}

/** Whether an order may match, as far as it is known: events have neither owner nor time. */
export function mayMatch({ tab, status, plantId }: TabFilter, order: { readonly plantId: number; readonly status?: OrderStatus; readonly isShipped?: boolean; readonly refund?: Order['refund'] }): boolean {
  const { shipped, refund } = tabs[tab];
  const statuses = statusesIn(tab, status);
  return (
    (statuses.length === 0 || order.status === undefined || statuses.includes(order.status)) &&
    (shipped === undefined || order.isShipped === undefined || order.isShipped === shipped) &&
    (refund === undefined || !('refund' in order) || order.refund === refund) &&
    (plantId === undefined || plantId === order.plantId)
  );
}

/** Whether an order matches a filter without words, which only the shop can compare. */
export const matches = (filter: TabFilter, { plantId, status, carrier, refund, owner, placedAt }: Order): boolean =>
  mayMatch(filter, { plantId, status, isShipped: carrier !== undefined, refund }) &&
  (filter.owner === undefined || filter.owner === owner) &&
  (filter.from === undefined || placedAt >= filter.from) &&
  (filter.before === undefined || placedAt < filter.before);
