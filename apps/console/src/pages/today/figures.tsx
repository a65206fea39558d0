import { Group, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { memo, type ReactNode, startTransition, Suspense, useDeferredValue, useEffect, useState } from 'react';
import { useShop } from '../../auth/session.js';
import type { DayFigures } from '../../shop/day.js';
import { lazyFile } from '../../shop/lazy-file.js';
import { useRefetchedLive } from '../../shop/use-refetched-live.js';
import { Card } from '../../ui/card.js';
import { locale } from '../../ui/numbers.js';
import { counted, formatDuration, formatNumber } from '../../ui/numbers.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { statusColors } from '../../ui/status-badge.js';
import { useStable } from '../../ui/use-stable.js';
import type { ClosedOrders, OpenOrders } from './queries.js';

// The chart library is as large as the rest of the console, so figures are shown before it is loaded.
const loadCharts = (): Promise<typeof import('./charts.js')> => import('./charts.js');
const Donut = lazyFile(loadCharts, 'Donut');
const Columns = lazyFile(loadCharts, 'Columns');
const Line = lazyFile(loadCharts, 'Line');

const height = 190;

/** Who opens the next page sooner than this does not wait for charts. */
const passingMs = 300;

/** Drawing one takes longer than the rest of the page, which comes first, also when figures change. */
function Chart({ children }: { readonly children: ReactNode }): ReactNode {
  const [isDue, setDue] = useState(false);
  useEffect(() => {
    void loadCharts();
    const timer = setTimeout(() => startTransition(() => setDue(true)), passingMs);
    // Also when the page is shown again.
    return () => {
      clearTimeout(timer);
      setDue(false);
    };
  }, []);
  const place = <Skeleton h={height} />;
  return isDue ? <Suspense fallback={place}>{children}</Suspense> : place;
}

/** Minimum interval between reads of the inventory while orders change. */
const inventoryMs = 2_000;

/** Memoised, since the page renders with each publication of the day's figures. */
export const UnitsByStatus = memo(function UnitsByStatus(): ReactNode {
  const shop = useShop();
  const { data, error } = useRefetchedLive(
    useQuery({ queryKey: ['inventory'], queryFn: async ({ signal }) => (await shop.GET('/store/inventory', { signal })).data, refetchInterval: 30_000 }),
    inventoryMs,
  );
  const parts = useStable((['available', 'pending', 'sold'] as const).map((name) => ({ name, value: data?.[name] ?? 0 })));
  const drawn = useDeferredValue(parts);
  return (
    <Card title="The shop’s units by status">
      <ProblemAlert error={error} title="The inventory could not be loaded" isShown={data !== undefined} />
      {data && (
        <Group gap="md">
          <Chart><Donut parts={drawn} height={height} label={drawn.map(({ name, value }) => `${formatNumber(value)} ${name}`).join(', ')} /></Chart>
          <Legend parts={parts} />
        </Group>
      )}
      {!data && !error && <Skeleton h={height} />}
    </Card>
  );
});

/** @param isFailed nothing that is missing is on its way; the page says why */
export function OrdersByStatus({ open, closed, isFailed }: { readonly open: OpenOrders | undefined; readonly closed: ClosedOrders | undefined; readonly isFailed: boolean }): ReactNode {
  const parts = useStable([
    { name: 'placed', value: open?.placed ?? 0 },
    { name: 'approved', value: open?.approved ?? 0 },
    { name: 'delivered', value: closed?.delivered ?? 0, isMore: closed?.isComplete === false },
    { name: 'cancelled', value: closed?.cancelled ?? 0, isMore: closed?.isComplete === false },
  ]);
  const drawn = useDeferredValue(parts);
  return (
    <Card title="Orders by status" aside={<Text size="xs" c="dimmed">open, or last 24 h</Text>}>
      {open && closed ? (
        <Group gap="md">
          <Chart><Donut parts={drawn} height={height} label={drawn.map(({ name, value }) => `${formatNumber(value)} ${name}`).join(', ')} /></Chart>
          <Legend parts={parts} />
        </Group>
      ) : isFailed ? (
        <Text size="sm" c="dimmed">Unknown</Text>
      ) : (
        <Skeleton h={height} />
      )}
    </Card>
  );
}

const Legend = ({ parts }: { readonly parts: readonly { readonly name: string; readonly value: number; readonly isMore?: boolean }[] }): ReactNode => (
  <Stack gap={6} component="dl" m={0} flex={1} miw={180}>
    {parts.map(({ name, value, isMore = false }) => (
      <Group key={name} justify="space-between" wrap="nowrap" gap="xs">
        <Group component="dt" gap={6} wrap="nowrap">
          <span aria-hidden style={{ width: 10, height: 10, borderRadius: 3, flex: 'none', background: `var(--mantine-color-${statusColors[name] ?? 'gray'}-6)` }} />
          <Text size="sm">{name}</Text>
        </Group>
        <Text component="dd" m={0} size="sm" fw={600} className="numbers">{isMore ? 'at least ' : ''}{formatNumber(value)}</Text>
      </Group>
    ))}
  </Stack>
);

const clock = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit' });

export function OrdersPerMinute({ figures: { perMinute, isRead, isCut }, isFailed }: { readonly figures: DayFigures; readonly isFailed: boolean }): ReactNode {
  const total = perMinute.reduce((sum, { placed }) => sum + placed, 0);
  const text = `${isCut ? 'the newest ' : ''}${counted(total, 'order')} in the last hour`;
  const data = useDeferredValue(useStable(perMinute.map(({ at, placed }) => ({ time: clock.format(at), orders: placed }))));
  const label = useDeferredValue(`${text}, at most ${formatNumber(Math.max(...perMinute.map(({ placed }) => placed)))} per minute`);
  // Otherwise the page would count 0.
  if (!isRead && !isFailed) return <Card title="Orders per minute"><Skeleton h={height} /></Card>;
  if (isFailed) return <Card title="Orders per minute"><Text size="sm" c="dimmed">Unknown</Text></Card>;
  return (
    <Card title="Orders per minute" aside={<Text size="xs" c="dimmed" className="numbers">{text}</Text>}>
      <Chart><Columns data={data} height={height} label={label} /></Chart>
    </Card>
  );
}

export function DeliveryTime({ figures: { perMinute, isRead }, isFailed }: { readonly figures: DayFigures; readonly isFailed: boolean }): ReactNode {
  const last = perMinute.findLast(({ deliveryMs }) => deliveryMs !== undefined)?.deliveryMs;
  const data = useDeferredValue(useStable(perMinute.map(({ at, deliveryMs }) => ({ time: clock.format(at), seconds: deliveryMs === undefined ? null : deliveryMs / 1_000 }))));
  const label = useDeferredValue(last === undefined ? '' : `Median time from placing to delivery, last ${formatDuration(last)}`);
  return (
    <Card title="From placing to delivery" aside={<Text size="xs" c="dimmed" className="numbers">{last === undefined ? 'median' : `median, last ${formatDuration(last)}`}</Text>}>
      {last === undefined && !isRead ? (
        isFailed ? <Text size="sm" c="dimmed">Unknown</Text> : <Skeleton h={height} />
      ) : last === undefined ? (
        <Text size="sm" c="dimmed">No order has been delivered since this page was loaded. Deliveries appear here as they happen.</Text>
      ) : (
        <Chart><Line data={data} height={height} label={label} /></Chart>
      )}
    </Card>
  );
}
