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
  // The clock may have last ticked before `at`.
  const now = Math.max(useNow(), Date.now());
  if (at === undefined) return <Text span inherit {...props}>–</Text>;
  const date = new Date(at);
  // Lists have one in each row, where the browser's own tooltip costs nothing.
  return <Text component="time" dateTime={at} title={exact.format(date)} inherit {...props}>{relativeTo(isPlanned ? date.getTime() : Math.min(date.getTime(), now), now)}</Text>;
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

/** The time, in steps of five seconds. */
export const useNow = (): number => useSyncExternalStore(watchClock, () => now);
