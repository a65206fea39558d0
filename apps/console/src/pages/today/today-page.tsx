import { Alert, Grid, SimpleGrid, Skeleton } from '@mantine/core';
import { IconCash, IconClockHour4, IconInfoCircle, IconTruckDelivery, IconWebhook } from '@tabler/icons-react';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { type Session, useCell, useMay, useSession } from '../../auth/session.js';
import { LiveDay } from '../../shop/day.js';
import { formatNumber } from '../../ui/numbers.js';
import { PageHeader } from '../../ui/page-header.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { DeliveryTime, OrdersByStatus, OrdersPerMinute, UnitsByStatus } from './figures.js';
import { Health } from './health.js';
import { LiveBadge } from '../../ui/live-badge.js';
import { Stat } from './stat.js';
import { useFailingWebhooks, useRefundsDue } from './queries.js';

// Below the key figures, so it is not part of the first load.
const ToShip = lazy(() => import('./to-ship.js').then(({ ToShip: component }) => ({ default: component })));

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
  return day;
}

export function TodayPage(): ReactNode {
  const day = useLiveDay();
  const figures = useCell(day.figures);
  const error = useCell(day.error);
  const seesAll = useMay('read:orders');
  const refunds = useRefundsDue();
  const webhooks = useFailingWebhooks();
  const { counts, isCut, isRead } = figures;
  const number = (value: number): string => (isRead ? formatNumber(value) : '…');
  return (
    <>
      <PageHeader title="Today" text={seesAll ? 'Open work, and what is happening right now.' : 'Your orders, and what happens to them right now.'}>
        <LiveBadge lagMs={figures.lagMs} />
      </PageHeader>
      <ProblemAlert error={error} title="The orders could not be loaded" />
      <SimpleGrid cols={{ base: 1, xs: 2, lg: 4 }} mb="md">
        <Stat label="To ship" value={number(figures.toShip.length)} text="paid, not shipped yet" icon={IconTruckDelivery} tone={figures.toShip.length > 0 ? 'blue' : 'gray'} href="/orders?status=approved" />
        <Stat label="Awaiting payment" value={number(counts.placed)} text="expire if they stay unpaid" icon={IconClockHour4} tone="gray" href="/orders?status=placed" />
        {refunds.isOffered && <Stat label="Refunds due" value={refunds.value} text={refunds.text} icon={IconCash} tone={refunds.count > 0 ? 'orange' : 'gray'} error={refunds.error} />}
        {webhooks.isOffered && <Stat label="Failing webhooks" value={webhooks.value} text={webhooks.text} icon={IconWebhook} tone={webhooks.count > 0 ? 'red' : 'gray'} href="/webhooks" error={webhooks.error} />}
      </SimpleGrid>
      {isCut && <Alert variant="light" color="blue" icon={<IconInfoCircle />} mb="md">This page counts at most the newest 5,000 open orders and the newest 5,000 that closed in the last 24 hours. There are more.</Alert>}
      <Grid>
        <Grid.Col span={{ base: 12, md: 4 }}><UnitsByStatus /></Grid.Col>
        <Grid.Col span={{ base: 12, md: 4 }}><OrdersByStatus figures={figures} /></Grid.Col>
        <Grid.Col span={{ base: 12, md: 4 }}><Health /></Grid.Col>
        <Grid.Col span={{ base: 12, md: 6 }}><OrdersPerMinute figures={figures} /></Grid.Col>
        <Grid.Col span={{ base: 12, md: 6 }}><DeliveryTime figures={figures} /></Grid.Col>
        <Grid.Col span={12}><Suspense fallback={<Skeleton h={240} />}><ToShip figures={figures} /></Suspense></Grid.Col>
      </Grid>
    </>
  );
}
