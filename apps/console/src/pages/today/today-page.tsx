import { Box, Grid, SimpleGrid, Skeleton } from '@mantine/core';
import { IconCash, IconClockHour4, IconTruckDelivery, IconWebhook } from '@tabler/icons-react';
import { type ReactNode, Suspense, useEffect, useState } from 'react';
import { type Session, useCell, useMay, useSession } from '../../auth/session.js';
import { LiveDay } from '../../shop/day.js';
import { lazyFile } from '../../shop/lazy-file.js';
import { PageHeader } from '../../ui/page-header.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { DeliveryTime, OrdersByStatus, OrdersPerMinute, UnitsByStatus } from './figures.js';
import { Health } from './health.js';
import { LiveBadge } from '../../ui/live-badge.js';
import { Stat } from './stat.js';
import { useClosedOrders, useFailingWebhooks, useOpenOrders, useRefundsDue, valueOf } from './queries.js';

// Not part of the first load, which shows the key figures.
const Queue = lazyFile(() => import('./queue.js'), 'Queue');

const days = new WeakMap<Session, LiveDay>();

/** One per session, so that returning to the page shows its figures at once. */
function useLiveDay(): LiveDay {
  const session = useSession();
  const seesAll = useMay('read:orders');
  const [day] = useState(() => {
    const known = days.get(session) ?? new LiveDay(session.shop, session.live, session.connection, seesAll);
    days.set(session, known);
    return known;
  });
  useEffect(() => day.see(seesAll), [day, seesAll]);
  return day;
}

export function TodayPage(): ReactNode {
  const day = useLiveDay();
  const figures = useCell(day.figures);
  const error = useCell(day.error);
  const seesAll = useMay('read:orders');
  const refunds = useRefundsDue();
  const webhooks = useFailingWebhooks();
  const { data: open, error: openError } = useOpenOrders();
  const closed = useClosedOrders();
  const fault = openError ?? closed.error ?? error;
  return (
    <>
      <PageHeader title="Today" text={seesAll ? 'Open work, and what is happening right now.' : 'Your orders, and what happens to them right now.'}>
        <LiveBadge lagMs={figures.lagMs} />
      </PageHeader>
      {fault !== undefined && <Box mb="md"><ProblemAlert error={fault} title="The orders could not be loaded" /></Box>}
      <SimpleGrid cols={{ base: 2, lg: 4 }} spacing={{ base: 'xs', xs: 'md' }} mb="md">
        <Stat label="To ship" value={valueOf(open?.toShip, openError)} text="paid, not shipped yet" icon={IconTruckDelivery} tone={open && open.toShip > 0 ? 'blue' : 'gray'} link={{ orders: { tab: 'to-ship' } }} />
        <Stat label="Awaiting payment" value={valueOf(open?.placed, openError)} text="expire if they stay unpaid" icon={IconClockHour4} tone="gray" link={{ orders: { tab: 'awaiting' } }} />
        {refunds.isOffered && <Stat label="Refunds due" value={refunds.value} text={refunds.text} icon={IconCash} tone={refunds.count > 0 ? 'orange' : 'gray'} link={{ orders: { tab: 'refund' } }} error={refunds.error} />}
        {webhooks.isOffered && <Stat label="Failing webhooks" value={webhooks.value} text={webhooks.text} icon={IconWebhook} tone={webhooks.count > 0 ? 'red' : 'gray'} link={{ webhooks: { failing: true } }} error={webhooks.error} />}
      </SimpleGrid>
      <Grid>
        <Grid.Col span={12}><Suspense fallback={<Skeleton h={240} />}><Queue open={open} isFailed={openError !== null} /></Suspense></Grid.Col>
        <Grid.Col span={{ base: 12, md: 4 }}><UnitsByStatus /></Grid.Col>
        <Grid.Col span={{ base: 12, md: 4 }}><OrdersByStatus open={open} closed={closed.data} isFailed={(openError ?? closed.error) !== null} /></Grid.Col>
        <Grid.Col span={{ base: 12, md: 4 }}><Health /></Grid.Col>
        <Grid.Col span={{ base: 12, md: 6 }}><OrdersPerMinute figures={figures} isFailed={error !== undefined} /></Grid.Col>
        <Grid.Col span={{ base: 12, md: 6 }}><DeliveryTime figures={figures} isFailed={error !== undefined} /></Grid.Col>
      </Grid>
    </>
  );
}
