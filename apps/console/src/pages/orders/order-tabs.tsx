import { Badge, Tabs } from '@mantine/core';
import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useShop } from '../../auth/session.js';
import { useRefetchedLive } from '../../shop/use-refetched-live.js';
import { formatNumber } from '../../ui/numbers.js';
import { type OrderFilter, orderTabs, type OrderTab } from './order-filter.js';
import { countOf, type Counts, tabs, toCountQuery } from './order-query.js';

/** Minimum interval between counts while orders change. */
const countMs = 1_000;

/** The orders of all tabs, counted by the shop. */
export function useOrderCounts(filter: OrderFilter, seesAll: boolean): UseQueryResult<Counts> {
  const shop = useShop();
  const query = toCountQuery(filter, seesAll);
  return useRefetchedLive(
    useQuery({
      queryKey: ['orders', 'counts', query],
      queryFn: async ({ signal }) => (await shop.GET('/store/order/counts', { params: { query }, signal })).data,
      // That a refund was completed has no event.
      refetchInterval: filter.tab === 'refund' ? 5_000 : 30_000,
    }),
    countMs,
  );
}

/** The queues of the work with orders. A sign after a number says that there may be more. */
export function OrderTabs({ tab, counts, onChange, children }: { readonly tab: OrderTab; readonly counts: Counts | undefined; readonly onChange: (tab: OrderTab) => void; readonly children: ReactNode }): ReactNode {
  return (
    <Tabs value={tab} keepMounted={false} activateTabWithKeyboard={false} onChange={(value) => {
      const wanted = orderTabs.find((one) => one === value);
      if (wanted) onChange(wanted);
    }}>
      <Tabs.List aria-label="Orders" mb="md">
        {orderTabs.map((one) => (
          <Tabs.Tab key={one} value={one} px="xs" rightSection={counts && <Badge variant="light" color={one === tab ? 'green' : 'gray'} className="numbers" tt="none" miw="max-content">{formatNumber(countOf(counts, one))}{counts.complete ? '' : '+'}</Badge>}>{tabs[one].label}</Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel value={tab}>{children}</Tabs.Panel>
    </Tabs>
  );
}
