import { Breadcrumbs, Grid, Stack } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { stateOf } from '../../shop/day.js';
import { AnchorLink, goBack } from '../../ui/anchor-link.js';
import { Loading } from '../../ui/loading.js';
import { PageHeader } from '../../ui/page-header.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { StatusBadge } from '../../ui/status-badge.js';
import { OrderActions } from './order-actions.js';
import { leftOrders } from './order-filter.js';
import { OrderDeliveries } from './order-deliveries.js';
import { OrderFacts } from './order-facts.js';
import { OrderRefunds } from './order-refunds.js';
import { OrderTimeline } from './order-timeline.js';
import { useOrder, useRefunds, useTimeline } from './queries.js';

const route = getRouteApi('/orders/$orderId');

export function OrderPage(): ReactNode {
  const id = Number(route.useParams().orderId);
  const order = useOrder(id);
  const timeline = useTimeline(id);
  const refunds = useRefunds(id, timeline.data);
  return (
    <>
      <Breadcrumbs mb="xs"><AnchorLink to="/orders" search={leftOrders.get()} onClick={goBack} size="sm">Orders</AnchorLink><span>{id}</span></Breadcrumbs>
      <PageHeader title={`Order ${id}`} badge={order.data && <StatusBadge status={stateOf(order.data)} />} />
      <ProblemAlert error={order.error} title="The order could not be loaded" isShown={order.data !== undefined} />
      {order.isPending && <Loading />}
      {order.data && (
        <Stack>
          <OrderActions order={order.data} />
          <Grid>
            <Grid.Col span={{ base: 12, lg: 6 }}>
              <Stack>
                <OrderFacts order={order.data} />
                <OrderRefunds orderId={id} refunds={refunds.data ?? []} error={refunds.error} />
                <OrderDeliveries order={order.data} timeline={timeline.data} />
              </Stack>
            </Grid.Col>
            <Grid.Col span={{ base: 12, lg: 6 }}><OrderTimeline orderId={id} entries={timeline.data} error={timeline.error} /></Grid.Col>
          </Grid>
        </Stack>
      )}
    </>
  );
}
