import { Paper } from '@mantine/core';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, type ReactNode, useLayoutEffect, useRef } from 'react';
import { EventRow } from './event-row.js';
import classes from './event-list.module.css';
import type { TailEntry } from './tail.js';

const rowHeight = 34;
const rowsOfAPage = 15;

/** A virtualised list of events, newest first. Arrow keys select one. */
export function EventList({ entries, selected, onSelect }: {
  /** Oldest first. */
  readonly entries: readonly TailEntry[];
  readonly selected: TailEntry | undefined;
  readonly onSelect: (entry: TailEntry) => void;
}): ReactNode {
  const box = useRef<HTMLDivElement>(null);
  const count = entries.length;
  const newest = entries.at(-1)?.number ?? 0;
  const at = (index: number): TailEntry | undefined => entries[count - 1 - index];
  const virtualizer = useVirtualizer({
    count,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => at(index)?.number ?? index,
    overscan: 8,
  });
  useKeptPlace(box, newest);

  const selectedIndex = selected === undefined ? -1 : newest - selected.number;
  const move = (event: KeyboardEvent): void => {
    const to = targetOf(event.key, selectedIndex, count);
    const entry = to === undefined ? undefined : at(to);
    if (to === undefined || !entry) return;
    event.preventDefault();
    onSelect(entry);
    virtualizer.scrollToIndex(to);
  };
  const isInSight = virtualizer.getVirtualItems().some(({ index }) => index === selectedIndex);
  return (
    <Paper withBorder>
      <div ref={box} className={classes['box']} role="listbox" aria-label="Events" tabIndex={0} aria-activedescendant={selected && isInSight ? idOf(selected) : undefined} onKeyDown={move}>
        <div role="presentation" style={{ height: virtualizer.getTotalSize(), position: 'relative' }}>
          {virtualizer.getVirtualItems().map(({ key, index, start }) => {
            const entry = at(index);
            if (!entry) return null;
            return (
              <div key={key} id={idOf(entry)} role="option" aria-selected={entry.number === selected?.number} aria-posinset={index + 1} aria-setsize={count} className={classes['row']} style={{ height: rowHeight, transform: `translateY(${start}px)` }} onClick={() => onSelect(entry)}>
                <EventRow frame={entry.frame} />
              </div>
            );
          })}
        </div>
      </div>
    </Paper>
  );
}

const idOf = ({ number }: TailEntry): string => `event-${number}`;

/** Keeps the scroll position when new events are added on top. */
function useKeptPlace(box: React.RefObject<HTMLDivElement | null>, newest: number): void {
  const before = useRef(newest);
  useLayoutEffect(() => {
    const added = newest - before.current;
    before.current = newest;
    if (box.current && box.current.scrollTop > 0 && added > 0) box.current.scrollTop += added * rowHeight;
  }, [box, newest]);
}

function targetOf(key: string, from: number, count: number): number | undefined {
  const last = count - 1;
  if (key === 'ArrowDown') return Math.min(from + 1, last);
  if (key === 'ArrowUp') return Math.max(from - 1, 0);
  if (key === 'PageDown') return Math.min(from + rowsOfAPage, last);
  if (key === 'PageUp') return Math.max(from - rowsOfAPage, 0);
  if (key === 'Home') return 0;
  if (key === 'End') return last;
  return undefined;
}
