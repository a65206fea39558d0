import { Badge, Box, Group, Text } from '@mantine/core';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { useMay } from '../../auth/session.js';
import { AnchorLink } from '../../ui/anchor-link.js';
import { StatusBadge } from '../../ui/status-badge.js';
import type { Plant } from './plant-filter.js';
import { PlantPicture } from './plant-picture.js';
import classes from './plant-table.module.css';
import { StockCell } from './stock-cell.js';
import { useLiveStock } from './plants-queries.js';

/** A row's height in pixels, unless its name needs more lines. */
const rowHeight = 52;
/** Loads more when this many rows are left below. */
const nearEnd = 40;
const mostTags = 2;

/** A virtualised list: only visible rows are in the DOM. Arrow keys move between plants. */
export function PlantTable({ plants, isComplete, onNearEnd }: { readonly plants: readonly Plant[]; readonly isComplete: boolean; readonly onNearEnd: () => void }): ReactNode {
  const hasStock = useMay('write:stock');
  useLiveStock();
  const body = useRef<HTMLDivElement>(null);
  const [scrollMargin, setScrollMargin] = useState(0);
  useLayoutEffect(() => {
    if (body.current) setScrollMargin(body.current.getBoundingClientRect().top + window.scrollY);
  }, []);
  const rows = useWindowVirtualizer({ count: plants.length, estimateSize: () => rowHeight, overscan: 6, scrollMargin });
  const shown = rows.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= plants.length - nearEnd) onNearEnd();
  }, [last, plants.length, onNearEnd]);

  const [wanted, setWanted] = useState<number>();
  useEffect(() => {
    if (wanted === undefined) return;
    body.current?.querySelector<HTMLElement>(`[data-index="${wanted}"] a`)?.focus({ preventScroll: true });
  }, [wanted, shown]);
  const onKeyDown = (event: KeyboardEvent<HTMLElement>): void => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    const at = Number((event.target as HTMLElement).closest<HTMLElement>('[data-index]')?.dataset['index']);
    if (step === undefined || Number.isNaN(at)) return;
    event.preventDefault();
    const next = Math.min(Math.max(at + step, 0), plants.length - 1);
    rows.scrollToIndex(next, { align: 'auto' });
    setWanted(next);
  };

  return (
    <div role="table" aria-label="Plants" aria-rowcount={isComplete ? plants.length + 1 : -1} className={classes['table']} data-stock={hasStock || undefined}>
      <div role="rowgroup">
        <div role="row" aria-rowindex={1} className={`${classes['row']} ${classes['head']}`}>
          {['Plant', 'Category', 'Tags', ...(hasStock ? ['Stock'] : []), 'Status'].map((label) => <span key={label} role="columnheader">{label}</span>)}
        </div>
      </div>
      <div role="rowgroup" ref={body} onKeyDown={onKeyDown} onBlur={() => setWanted(undefined)} style={{ height: rows.getTotalSize(), position: 'relative' }}>
        {shown.map(({ index, start }) => {
          const plant = plants[index];
          return plant && <Row key={plant.id} plant={plant} index={index} top={start - scrollMargin} hasStock={hasStock} measure={rows.measureElement} />;
        })}
      </div>
    </div>
  );
}

function Row({ plant, index, top, hasStock, measure }: { readonly plant: Plant; readonly index: number; readonly top: number; readonly hasStock: boolean; readonly measure: (row: HTMLElement | null) => void }): ReactNode {
  return (
    <div role="row" ref={measure} aria-rowindex={index + 2} data-index={index} className={classes['row']} style={{ position: 'absolute', width: '100%', minHeight: rowHeight, transform: `translateY(${top}px)` }}>
      <div role="cell" className={classes['name']}>
        <PlantPicture photoUrls={plant.photoUrls} />
        <div style={{ minWidth: 0 }}>
          <AnchorLink to="/plants/$plantId" params={{ plantId: String(plant.id) }} underline="hover" fw={500} size="sm" lh={1.25} lineClamp={6} style={{ overflowWrap: 'anywhere', hyphens: 'auto' }} title={plant.name}>{plant.name}</AnchorLink>
          <Text size="xs" c="dimmed" className="numbers">{plant.id}{hasStock && plant.status !== 'available' && <Box component="span" hiddenFrom="sm"> · {plant.status}</Box>}</Text>
        </div>
      </div>
      <Text role="cell" size="sm" truncate title={plant.category?.name}>{plant.category?.name ?? ''}</Text>
      <Group role="cell" gap={4} wrap="nowrap" className={classes['tags']}>
        {plant.tags.slice(0, mostTags).map(({ id, name }) => <Badge key={id} variant="default" tt="none" fw={400} title={name} maw={130} style={{ minWidth: 44 }}>{name}</Badge>)}
        {plant.tags.length > mostTags && <Text size="xs" c="dimmed" style={{ flexShrink: 0 }} title={plant.tags.slice(mostTags).map(({ name }) => name).join(' | ')}>+{plant.tags.length - mostTags}</Text>}
      </Group>
      {hasStock && <StockCell plant={plant} />}
      <div role="cell"><StatusBadge status={plant.status} /></div>
    </div>
  );
}
