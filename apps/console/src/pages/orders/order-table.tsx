import { Badge, Paper } from '@mantine/core';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useLayoutEffect, useRef } from 'react';
import type { Order } from '../../shop/day.js';
import { AnchorLink } from '../../ui/anchor-link.js';
import { formatNumber } from '../../ui/numbers.js';
import { StatusBadge } from '../../ui/status-badge.js';
import { Time } from '../../ui/time.js';
import classes from './order-table.module.css';

const rowHeight = 44;
// As in the style sheet: the columns' gap, and a row's padding without one gap.
const columnGap = 10;
const padding = 14;
/** Loads the next page when this many rows are left below. */
const ahead = 100;

interface Column {
  readonly name: string;
  readonly isNumber?: true;
  /** Of the narrowest column in which nothing is cut, in pixels; those of longer texts end in an ellipsis. */
  readonly width: number;
  readonly cell: (order: Order) => ReactNode;
}

const columns: readonly Column[] = [
  { name: 'Order', width: 90, cell: ({ id }) => <AnchorLink to="/orders/$orderId" params={{ orderId: String(id) }} size="sm">{id}</AnchorLink> },
  { name: 'Status', width: 94, cell: ({ status }) => <StatusBadge status={status} /> },
  { name: 'Placed', width: 80, cell: ({ placedAt }) => <Time at={placedAt} /> },
  { name: 'Plant', width: 90, isNumber: true, cell: ({ plantId }) => plantId },
  { name: 'Units', width: 56, isNumber: true, cell: ({ quantity }) => formatNumber(quantity) },
  { name: 'Shipment', width: 84, cell: ({ carrier, trackingNumber }) => (carrier === undefined ? '–' : `${carrier} ${trackingNumber ?? ''}`) },
  { name: 'Refund', width: 94, cell: ({ refund }) => (refund === undefined ? '–' : <Badge variant="light" color={refund === 'due' ? 'orange' : 'gray'} tt="none">{refund}</Badge>) },
];
const ownerColumn: Column = { name: 'Owner', width: 70, cell: ({ owner }) => owner ?? '–' };

/** A virtualised table: only visible rows are in the DOM. */
export function OrderTable({ rows, isEnd, isLoading, seesAll, onMore }: {
  readonly rows: readonly Order[];
  readonly isEnd: boolean;
  readonly isLoading: boolean;
  readonly seesAll: boolean;
  readonly onMore: () => void;
}): ReactNode {
  const scrolled = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({ count: rows.length, getScrollElement: () => scrolled.current, estimateSize: () => rowHeight, overscan: 12, getItemKey: (index) => rows[index]?.id ?? index });
  const items = virtual.getVirtualItems();
  const lastShown = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (!isEnd && !isLoading && lastShown > rows.length - ahead) onMore();
  }, [isEnd, isLoading, lastShown, rows.length, onMore]);
  useStillView(scrolled, rows);
  const shown = seesAll ? [...columns.slice(0, 3), ownerColumn, ...columns.slice(3)] : columns;
  const template = { gridTemplateColumns: shown.map(({ width, isNumber }) => `minmax(${width}px, ${isNumber ? 1 : 1.4}fr)`).join(' '), minWidth: shown.reduce((sum, { width }) => sum + width + columnGap, padding) };
  return (
    <Paper withBorder ref={scrolled} className={classes['scroll'] ?? ''} role="table" aria-label="Orders" aria-rowcount={isEnd ? rows.length + 1 : -1} tabIndex={0} data-scroll-restoration-id="orders">
      <div role="rowgroup" className={classes['head']} style={{ minWidth: template.minWidth }}>
        <div role="row" className={classes['row']} style={template}>
          {shown.map(({ name, isNumber }) => <div key={name} role="columnheader" className={isNumber ? classes['number'] : undefined}>{name}</div>)}
        </div>
      </div>
      <div role="rowgroup" style={{ height: virtual.getTotalSize(), position: 'relative' }}>
        {items.map(({ index, key, start }) => {
          const order = rows[index];
          return order && (
            <div key={key} role="row" aria-rowindex={index + 2} className={`${classes['row'] ?? ''} ${classes['placed'] ?? ''}`} style={{ ...template, height: rowHeight, transform: `translateY(${start}px)` }}>
              {shown.map(({ name, isNumber, cell }) => <div key={name} role="cell" className={isNumber ? classes['number'] : classes['cell']}>{cell(order)}</div>)}
            </div>
          );
        })}
      </div>
    </Paper>
  );
}

/** Keeps the scroll position when new rows are added on top. */
function useStillView(scrolled: React.RefObject<HTMLDivElement | null>, rows: readonly Order[]): void {
  const first = useRef<number>(undefined);
  useLayoutEffect(() => {
    const before = first.current;
    first.current = rows[0]?.id;
    const element = scrolled.current;
    if (before === undefined || !element || element.scrollTop === 0) return;
    const added = rows.findIndex(({ id }) => id === before);
    if (added > 0) element.scrollTop += added * rowHeight;
  }, [scrolled, rows]);
}
