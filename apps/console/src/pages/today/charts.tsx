import '@mantine/charts/styles.css';
import { BarChart, DonutChart, LineChart } from '@mantine/charts';
import { memo, type ReactNode } from 'react';
import { formatDuration } from '../../ui/numbers.js';
import { statusColors } from '../../ui/status-badge.js';

// For screen readers each chart is one image with a text alternative. The figures are published twice a second, and drawing a chart
// is expensive: each is drawn only when its own data changed.

export const Donut = memo(function Donut({ parts, height, label }: { readonly parts: readonly { readonly name: string; readonly value: number }[]; readonly height: number; readonly label: string }): ReactNode {
  const data = parts.map(({ name, value }) => ({ name, value, color: `${statusColors[name] ?? 'gray'}.6` }));
  const isEmpty = data.every(({ value }) => value === 0);
  return (
    <div role="img" aria-label={label} style={{ width: height - 50, flex: 'none' }}>
      <DonutChart data={isEmpty ? [{ name: 'none', value: 1, color: 'gray.4' }] : data} size={height - 50} thickness={20} h={height} strokeWidth={1} withTooltip={!isEmpty} pieChartProps={plain} pieProps={still} />
    </div>
  );
});

export const Columns = memo(({ data, height, label }: { readonly data: readonly { readonly time: string; readonly orders: number }[]; readonly height: number; readonly label: string }): ReactNode => (
  <div role="img" aria-label={label}>
    <BarChart h={height} data={[...data]} dataKey="time" series={[{ name: 'orders', color: 'green.7' }]} tickLine="none" xAxisProps={{ interval: 9 }} yAxisProps={{ allowDecimals: false, width: 36 }} barChartProps={plain} barProps={still} />
  </div>
));

export const Line = memo(({ data, height, label }: { readonly data: readonly { readonly time: string; readonly seconds: number | null }[]; readonly height: number; readonly label: string }): ReactNode => (
  <div role="img" aria-label={label}>
    <LineChart h={height} data={[...data]} dataKey="time" series={[{ name: 'seconds', label: 'to delivery', color: 'teal.7' }]} tickLine="none" connectNulls withDots valueFormatter={(value) => formatDuration(value * 1_000)} xAxisProps={{ interval: 9 }} yAxisProps={{ width: 68 }} lineChartProps={plain} lineProps={still} />
  </div>
));

/** Otherwise the chart would be a keyboard stop inside an image. */
const plain = { accessibilityLayer: false } as const;
/** No animation: the data changes twice a second. */
const still = { isAnimationActive: false } as const;
