import { Button, Text } from '@mantine/core';
import { IconPackage, IconRefresh } from '@tabler/icons-react';
import { ShopProblem } from '@plant-shop/client';
import { getRouteApi } from '@tanstack/react-router';
import { type ReactNode, useEffect, useMemo } from 'react';
import { type Session, useCell, useMay, useSession } from '../../auth/session.js';
import { LiveBadge } from '../../ui/live-badge.js';
import { EmptyState } from '../../ui/empty-state.js';
import { Loading } from '../../ui/loading.js';
import { formatNumber } from '../../ui/numbers.js';
import { PageHeader } from '../../ui/page-header.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import type { OrderFilter } from './order-filter.js';
import { OrderFilters } from './order-filters.js';
import { OrderList } from './order-list.js';
import { OrderTable } from './order-table.js';

const route = getRouteApi('/orders');

interface Kept {
  readonly name: string;
  readonly list: OrderList;
}
const kept = new WeakMap<Session, Kept>();

/** The last list stays, and stays live, so that "Back" from an order finds it as it was. */
function keptList(session: Session, key: string, seesAll: boolean): OrderList {
  const name = `${seesAll} ${key}`;
  const before = kept.get(session);
  if (before?.name === name) return before.list;
  before?.list.close();
  const list = new OrderList(session.shop, session.live, JSON.parse(key) as OrderFilter, seesAll);
  kept.set(session, { name, list });
  return list;
}

export function OrdersPage(): ReactNode {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const session = useSession();
  const seesAll = useMay('read:orders');
  const { isAway } = useCell(session.connection.state);
  const key = JSON.stringify(filter);
  const list = useMemo(() => keptList(session, key, seesAll), [session, key, seesAll]);
  // Also after a reconnect, since everything may have changed.
  useEffect(() => {
    if (isAway) list.close();
    else list.open();
  }, [list, isAway]);
  const { rows, isEnd, isLoading, error } = useCell(list.state);
  const isFiltered = Object.keys(filter).some((name) => name !== 'sort');
  // Also while the name is being typed.
  const isNobody = filter.owner !== undefined && error instanceof ShopProblem && error.is('user-not-found');
  const order = filter.sort === undefined ? 'newest first' : 'oldest first';
  return (
    <>
      <PageHeader title="Orders" text={seesAll ? `All orders, ${order}.` : `Your orders, ${order}.`}>
        <LiveBadge />
        <Button variant="default" leftSection={<IconRefresh size={16} />} onClick={() => list.start()}>Refresh</Button>
      </PageHeader>
      <OrderFilters filter={filter} seesAll={seesAll} onChange={(search) => void navigate({ search, replace: true })} />
      {isNobody ? <EmptyState icon={IconPackage} title={`No user is called ${filter.owner ?? ''}`} text="Write the whole username." /> : <ProblemAlert error={error} title="The orders could not be loaded" />}
      {rows.length > 0 && <OrderTable rows={rows} isEnd={isEnd} isLoading={isLoading} seesAll={seesAll} onMore={() => void list.loadMore()} />}
      {rows.length === 0 && isLoading && <Loading />}
      {rows.length === 0 && !isLoading && isEnd && error === undefined && (
        isFiltered ? (
          <EmptyState icon={IconPackage} title="No order matches" text="Remove a filter to see more.">
            <Button variant="default" onClick={() => void navigate({ search: {} })}>Show all orders</Button>
          </EmptyState>
        ) : (
          <EmptyState icon={IconPackage} title="There are no orders yet" text="Orders appear here as they are placed. First list a plant that is available and has units; then customers can order it." />
        )
      )}
      {rows.length > 0 && <Text size="sm" c="dimmed" mt="xs" className="numbers" role="status">{formatNumber(rows.length)}{isEnd ? '' : '+'} {rows.length === 1 && isEnd ? 'order' : 'orders'}</Text>}
    </>
  );
}
