import { Checkbox, Paper, UnstyledButton } from '@mantine/core';
import { IconArrowDown, IconArrowUp } from '@tabler/icons-react';
import { useElementScrollRestoration, useNavigate } from '@tanstack/react-router';
import { defaultRangeExtractor, type Range, useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, memo, type MouseEvent, type ReactNode, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { useCell } from '../../auth/session.js';
import type { Cell } from '../../shop/cell.js';
import type { Order } from '../../shop/day.js';
import { type Column, columnsOf } from './order-columns.js';
import type { OrderTab } from './order-filter.js';
import classes from './order-table.module.css';
import { extended, nothingSelected, type Selection, toggled } from './selection.js';

const scrollId = 'orders';
const rowHeight = 44;
// As in the style sheet: the columns' gap, and a row's padding without one gap.
const columnGap = 8;
const padding = 16;
const checkWidth = 22;
// Of the longest number that the shop assigns.
const orderWidth = 112;
/** Loads the next page when this many rows are left below. */
const ahead = 100;

/**
 * A virtualised table: only visible rows are in the DOM. Arrow keys move between orders, Enter opens one, Space selects it; with Shift, a range.
 * @param rows all rows that are loaded
 */
export function OrderTable({ rows, tab, isEnd, isLoading, isOldestFirst, seesAll, selection, onMore, onSort }: {
  readonly rows: readonly Order[];
  readonly tab: OrderTab;
  readonly isEnd: boolean;
  readonly isLoading: boolean;
  readonly isOldestFirst: boolean;
  readonly seesAll: boolean;
  readonly selection: Cell<Selection>;
  readonly onMore: () => void;
  readonly onSort: () => void;
}): ReactNode {
  const scrolled = useRef<HTMLDivElement>(null);
  const selected = useCell(selection);
  const left = useElementScrollRestoration({ id: scrollId });
  // One row is in the order of Tab, wherever the list is scrolled; the arrow keys reach the others.
  const current = Math.max(0, rows.findIndex(({ id }) => id === selected.current));
  const rangeExtractor = useCallback((range: Range) => [...new Set([...defaultRangeExtractor(range), current])].sort((one, other) => one - other), [current]);
  // The header is above the rows, and as high as one.
  const virtual = useVirtualizer({ count: rows.length, rangeExtractor, getScrollElement: () => scrolled.current, estimateSize: () => rowHeight, overscan: 3, scrollPaddingStart: rowHeight, scrollPaddingEnd: rowHeight, initialOffset: left?.scrollY ?? 0, getItemKey: (index) => rows[index]?.id ?? index });
  const items = virtual.getVirtualItems();
  const lastShown = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (!isEnd && !isLoading && lastShown > rows.length - ahead) onMore();
  }, [isEnd, isLoading, lastShown, rows.length, onMore]);
  useStillView(scrolled, rows);
  const columns = useMemo(() => columnsOf(tab, seesAll), [tab, seesAll]);
  const template = useMemo(() => {
    const widths = [`${checkWidth}px`, `${orderWidth}px`, ...columns.map(({ width, share = 1 }) => `minmax(${width}px, ${share}fr)`)];
    return { gridTemplateColumns: widths.join(' '), minWidth: columns.reduce((sum, { width }) => sum + width + columnGap, padding + checkWidth + orderWidth + 2 * columnGap) };
  }, [columns]);

  const [wanted, setWanted] = useState<number>();
  useEffect(() => {
    if (wanted !== undefined) scrolled.current?.querySelector<HTMLElement>(`[data-order="${wanted}"] a`)?.focus({ preventScroll: true });
  }, [wanted, items]);
  const onKeyDown = (event: KeyboardEvent<HTMLElement>): void => {
    const id = Number((event.target as HTMLElement).closest<HTMLElement>('[data-order]')?.dataset['order']);
    const at = rows.findIndex((row) => row.id === id);
    // From the head of the list, the arrow leads into it.
    if (at === -1 && event.key !== 'ArrowDown') return;
    const page = Math.max(1, Math.floor((scrolled.current?.clientHeight ?? 0) / rowHeight) - 2);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: rows.length - 1 }[event.key];
    const row = next === undefined ? undefined : rows[Math.min(Math.max(next, 0), rows.length - 1)];
    if (row) {
      event.preventDefault();
      selection.set(event.shiftKey && at !== -1 ? extended({ ...selected, current: id }, rows, row.id, false) : { ...selected, anchor: row.id, current: row.id });
      virtual.scrollToIndex(rows.indexOf(row), { align: 'auto' });
      setWanted(row.id);
    } else if (event.key === ' ' && !(event.target instanceof HTMLInputElement)) {
      event.preventDefault();
      selection.set(event.shiftKey ? extended(selected, rows, id, true) : toggled(selected, id));
    } else if (event.key === 'a' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      selection.set({ ...selected, ids: new Set(rows.map((one) => one.id)) });
    } else if (event.key === 'Escape') selection.set({ ...nothingSelected, current: id });
  };

  const navigate = useNavigate();
  const latest = useRef({ rows, selected });
  latest.current = { rows, selected };
  const handlers = useMemo(() => ({
    select: (id: number, isRange: boolean): void => {
      const now = latest.current;
      selection.set(isRange ? extended(now.selected, now.rows, id, true) : toggled(now.selected, id));
    },
    open: (id: number): void => {
      // "Back" returns the keyboard to it.
      selection.set({ ...latest.current.selected, current: id });
      void navigate({ to: '/orders/$orderId', params: { orderId: String(id) } });
    },
    enter: (id: number): void => {
      if (latest.current.selected.current !== id) selection.set({ ...latest.current.selected, current: id });
    },
  }), [selection, navigate]);
  const chosen = rows.reduce((sum, { id }) => sum + (selected.ids.has(id) ? 1 : 0), 0);

  return (
    <Paper withBorder ref={scrolled} className={`wide ${classes['scroll'] ?? ''}`} role="table" aria-label="Orders" aria-rowcount={isEnd ? rows.length + 1 : -1} data-scroll-restoration-id={scrollId}>
      <div role="rowgroup" className={classes['head']} onKeyDown={onKeyDown} style={{ minWidth: template.minWidth }}>
        <div role="row" className={classes['row']} style={template}>
          <div role="columnheader">
            <Checkbox size="xs" aria-label="Select all orders that are loaded" checked={chosen === rows.length} indeterminate={chosen > 0 && chosen < rows.length} onChange={() => selection.set({ ...selected, ids: chosen === rows.length ? new Set() : new Set(rows.map(({ id }) => id)) })} />
          </div>
          <div role="columnheader">Order</div>
          {columns.map(({ name, isNumber }) => (
            <div key={name} role="columnheader" className={isNumber ? classes['number'] : undefined} aria-sort={name === 'Placed' ? (isOldestFirst ? 'ascending' : 'descending') : undefined}>
              {name === 'Placed' ? <UnstyledButton className={classes['sort'] ?? ''} onClick={onSort} title={isOldestFirst ? 'The oldest first' : 'The newest first'}>{name}{isOldestFirst ? <IconArrowUp size={14} aria-hidden /> : <IconArrowDown size={14} aria-hidden />}</UnstyledButton> : name}
            </div>
          ))}
        </div>
      </div>
      <div role="rowgroup" onKeyDown={onKeyDown} onBlur={() => setWanted(undefined)} style={{ height: virtual.getTotalSize(), position: 'relative' }}>
        {items.map(({ index, start }) => {
          const order = rows[index];
          return order && <Row key={order.id} order={order} index={index} top={start} columns={columns} template={template} isSelected={selected.ids.has(order.id)} isCurrent={index === current} {...handlers} />;
        })}
      </div>
    </Paper>
  );
}

interface RowProps {
  readonly order: Order;
  readonly index: number;
  readonly top: number;
  readonly columns: readonly Column[];
  readonly template: { readonly gridTemplateColumns: string; readonly minWidth: number };
  readonly isSelected: boolean;
  readonly isCurrent: boolean;
  readonly select: (id: number, isRange: boolean) => void;
  readonly open: (id: number) => void;
  readonly enter: (id: number) => void;
}

/** Of the browser's own elements, since rows come and go by the dozen, with each page and tab and while one scrolls. */
const Row = memo(function Row({ order, index, top, columns, template, isSelected, isCurrent, select, open, enter }: RowProps): ReactNode {
  const { id } = order;
  const onClick = (event: MouseEvent<HTMLElement>): void => {
    const target = event.target as HTMLElement;
    // Links and checkboxes have their own click, and who marks a text wants to copy it.
    if (target.closest('a, input, label') || (!event.shiftKey && window.getSelection()?.isCollapsed === false)) return;
    if (event.shiftKey || target.closest('[data-check]')) {
      window.getSelection()?.removeAllRanges();
      select(id, event.shiftKey);
    } else open(id);
  };
  const onLink = (event: MouseEvent<HTMLElement>): void => {
    // Other clicks are the browser's: a new tab, a window, a download.
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    open(id);
  };
  const tabIndex = isCurrent ? 0 : -1;
  return (
    <div role="row" aria-rowindex={index + 2} data-order={id} data-selected={isSelected || undefined} className={`${classes['row'] ?? ''} ${classes['placed'] ?? ''}`} style={{ ...template, height: rowHeight, transform: `translateY(${top}px)` }} onClick={onClick} onFocus={() => enter(id)}>
      <div role="cell" className={classes['check']} data-check><input type="checkbox" aria-label={`Select order ${id}`} tabIndex={tabIndex} checked={isSelected} onChange={({ nativeEvent }) => select(id, nativeEvent instanceof window.MouseEvent && nativeEvent.shiftKey)} /></div>
      <div role="cell" className={classes['cell']}><a href={`${import.meta.env.BASE_URL}orders/${id}`} tabIndex={tabIndex} onClick={onLink}>{id}</a></div>
      {columns.map(({ name, isNumber, cell }) => {
        const content = cell(order);
        return <div key={name} role="cell" className={isNumber ? classes['number'] : classes['cell']} {...(typeof content === 'string' && { title: content })}>{content}</div>;
      })}
    </div>
  );
});

/** Keeps the rows in view where they are when others come or go above them. */
function useStillView(scrolled: React.RefObject<HTMLDivElement | null>, rows: readonly Order[]): void {
  const shown = useRef(rows);
  useLayoutEffect(() => {
    const before = shown.current;
    shown.current = rows;
    const element = scrolled.current;
    if (before === rows || !element || element.scrollTop === 0) return;
    const top = Math.floor(element.scrollTop / rowHeight);
    const view = before.slice(top, top + Math.ceil(element.clientHeight / rowHeight));
    for (const [n, row] of view.entries()) {
      const at = rows.findIndex(({ id }) => id === row.id);
      if (at === -1) continue;
      element.scrollTop += (at - top - n) * rowHeight;
      return;
    }
  }, [scrolled, rows]);
}
