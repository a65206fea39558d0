import { Text, type TextProps } from '@mantine/core';
import { type ReactNode, useSyncExternalStore } from 'react';
import { locale } from './numbers.js';
import { relativeTo } from './relative-time.js';

const exact = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'long' });

/**
 * A time relative to now, kept up to date; on hover, the exact time in the reader's time zone.
 * @param isPlanned it may lie ahead; otherwise it has passed, even if this computer's clock is late
 */
export function Time({ at, isPlanned = false, ...props }: { readonly at: string | undefined; readonly isPlanned?: boolean } & TextProps): ReactNode {
  // Only when the text is another one is it drawn again.
  const text = useSyncExternalStore(watchClock, () => textOf(at, isPlanned));
  if (at === undefined) return <Text span inherit {...props}>–</Text>;
  // Lists have one in each row, where the browser's own tooltip costs nothing.
  return <Text component="time" dateTime={at} title={formatExact(at)} inherit {...props}>{text}</Text>;
}

/** The exact time, without the relative one. */
export const formatExact = (at: string): string => exact.format(new Date(at));

// One clock for all times of the page.
const tickMs = 5_000;
let now = Date.now();
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function watchClock(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const one of listeners) one();
  }, tickMs);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

function readClock(): number {
  // It stands while no time is shown.
  if (timer === undefined && Date.now() - now >= tickMs) now = Date.now();
  return now;
}

function textOf(at: string | undefined, isPlanned: boolean): string {
  if (at === undefined) return '–';
  const date = Date.parse(at);
  return relativeTo(isPlanned ? date : Math.min(date, readClock()), readClock(), isPlanned);
}

/** Whether a time lies ahead. A planned one in the past waits for its turn. */
export const useIsAhead = (at: string | undefined): boolean => useSyncExternalStore(watchClock, () => at !== undefined && Date.parse(at) > readClock());
