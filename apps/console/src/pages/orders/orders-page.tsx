import { Button, Text } from '@mantine/core';
import { IconPackage, IconPlugConnectedX, IconRefresh } from '@tabler/icons-react';
import { ShopProblem } from '@plant-shop/client';
import { getRouteApi } from '@tanstack/react-router';
import { type ReactNode, use, useEffect } from 'react';
import { useCell, useMay, useSession } from '../../auth/session.js';
import { EmptyState } from '../../ui/empty-state.js';
import { LiveBadge } from '../../ui/live-badge.js';
import { Loading } from '../../ui/loading.js';
import { formatNumber } from '../../ui/numbers.js';
import { PageHeader } from '../../ui/page-header.js';
import { isTypedOn, PageSearch } from '../../ui/page-search.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { SavedViews } from '../../ui/saved-views.js';
import { BulkBar } from './bulk/bulk-bar.js';
import { BulkDialog } from './bulk/bulk-dialog.js';
import { ExportButton } from './export-button.js';
import { deskOf } from './order-desk.js';
import { toOrderFilter } from './order-filter.js';
import { OrderFilters } from './order-filters.js';
import { countOf, isOldestFirst, tabOf, type TabFilter, tabs } from './order-query.js';
import { OrderTable } from './order-table.js';
import { OrderTabs, useOrderCounts } from './order-tabs.js';

const route = getRouteApi('/orders');

export function OrdersPage(): ReactNode {
  const search = toOrderFilter(use(PageSearch));
  const navigate = route.useNavigate();
  const session = useSession();
  const seesAll = useMay('read:orders');
  const mayShip = useMay('write:shipments');
  const mayList = useMay('write:plants');
  const { isAway } = useCell(session.connection.state);
  const filter: TabFilter = { ...search, tab: tabOf(search, mayShip) };
  const { tab } = filter;
  const key = JSON.stringify(filter);
  const desk = deskOf(session);
  const list = desk.listOf(key, seesAll);
  const selection = desk.selectionOf(JSON.stringify({ ...filter, sort: undefined }));
  const run = useCell(desk.run);
  // What is only asked ends when the page is left; what was begun goes on.
  useEffect(() => () => {
    if (desk.run.get()?.state.get().isBegun === false) desk.run.set(undefined);
  }, [desk]);
  const { data: counts, error: countError } = useOrderCounts(filter, seesAll);
  // Also after a reconnect, since everything may have changed.
  useEffect(() => {
    if (isAway) list.close();
    else list.open();
  }, [list, isAway]);
  const { rows, isEnd, isLoading, error } = useCell(list.state);
  const due = counts && tab === 'refund' ? countOf(counts, tab) : undefined;
  useEffect(() => {
    if (due !== undefined && !isAway) list.open();
  }, [list, due, isAway]);
  const total = counts?.complete === true ? countOf(counts, tab, filter.status) : undefined;
  const isFiltered = Object.keys(search).some((name) => name !== 'sort' && name !== 'tab');
  // Also while the name is being typed.
  const fault = error ?? countError;
  const isNobody = filter.owner !== undefined && fault instanceof ShopProblem && fault.is('user-not-found');
  const isOldest = isOldestFirst(filter);
  const [emptyTitle, emptyText] = tabs[tab].empty;
  return (
    <>
      <PageHeader title="Orders" tab={tabs[tab].label} text={`${seesAll ? 'All customers’ orders' : 'Your orders'}, ${isOldest ? 'the oldest first' : 'the newest first'}.`}>
        <LiveBadge />
        <SavedViews list="orders" current={toOrderFilter({ ...filter })} read={toOrderFilter} onOpen={(view) => void navigate({ search: view })} />
        <ExportButton filter={filter} seesAll={seesAll} />
        <Button variant="default" leftSection={<IconRefresh size={16} />} onClick={() => list.start()}>Refresh</Button>
      </PageHeader>
      <OrderTabs tab={tab} counts={counts} onChange={(wanted) => void navigate({ search: toOrderFilter({ ...search, tab: wanted, sort: undefined }) })}>
        <OrderFilters filter={filter} seesAll={seesAll} onChange={(changed) => void navigate({ search: { ...changed, tab }, replace: isTypedOn(filter, { ...changed, tab }), resetScroll: false })} />
        {isNobody ? <EmptyState icon={IconPackage} title={`No user is called ${filter.owner ?? ''}`} text="Choose a name of the list, or write the whole username." /> : <ProblemAlert error={fault} title="The orders could not be loaded" isShown={rows.length > 0} />}
        {rows.length > 0 && (
          <>
            <OrderTable key={key} rows={rows} tab={tab} isEnd={isEnd} isLoading={isLoading} isOldestFirst={isOldest} seesAll={seesAll} selection={selection} onMore={() => void list.loadMore()} onSort={() => void navigate({ search: { ...search, tab, sort: isOldest ? '-placedAt' : 'placedAt' } })} />
            <BulkBar desk={desk} list={list} rows={rows} isEnd={isEnd} total={total} selection={selection} />
            <Text size="sm" c="dimmed" className="numbers" role="status">{formatNumber(rows.length)}{isEnd ? '' : total === undefined ? '+' : ` of ${formatNumber(total)}`} {rows.length === 1 && isEnd ? 'order' : 'orders'}</Text>
          </>
        )}
        {rows.length === 0 && isLoading && <Loading />}
        {rows.length === 0 && !isLoading && !isEnd && isAway && <EmptyState icon={IconPlugConnectedX} title="These orders are not loaded yet" text="They appear as soon as the shop can be reached." />}
        {rows.length === 0 && !isLoading && isEnd && error === undefined && (
          isFiltered ? (
            <EmptyState icon={IconPackage} title="No order matches" text="Remove a filter to see more.">
              <Button variant="default" onClick={() => void navigate({ search: { tab: 'all' } })}>Show all orders</Button>
            </EmptyState>
          ) : (
            <EmptyState icon={IconPackage} title={emptyTitle} text={tab === 'all' && mayList ? `${emptyText} First list a plant that is available and has units; then customers can order it.` : emptyText} />
          )
        )}
      </OrderTabs>
      {run && <BulkDialog run={run} onClose={(open) => {
        desk.run.set(undefined);
        // What failed stays selected.
        if (open) selection.set({ ...selection.get(), ids: new Set(open) });
      }} />}
    </>
  );
}
