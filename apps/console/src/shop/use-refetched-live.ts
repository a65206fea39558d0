import type { UseQueryResult } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { useSession } from '../auth/session.js';
import { type LiveEvents, onceOpen } from './live-events.js';

/** Refetches a query with the shop's events. @param everyMs at most this often */
export function useRefetchedLive<Data>(query: UseQueryResult<Data>, everyMs: number): UseQueryResult<Data> {
  const { live } = useSession();
  const { refetch, isLoading } = query;
  const isFirst = useRef(isLoading);
  isFirst.current = isLoading;
  useEffect(() => followLive(live, () => isFirst.current, () => void refetch(), everyMs), [live, refetch, everyMs]);
  return query;
}

/** @param isFirst whether the query is being read for the first time @returns a function that stops it */
export function followLive(live: LiveEvents, isFirst: () => boolean, refetch: () => void, everyMs: number): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;
  const refetchSoon = (): void => {
    if (isOver) return;
    timer ??= setTimeout(() => {
      timer = undefined;
      // A first read is not begun again, and may be from before the event.
      if (isFirst()) refetchSoon();
      else refetch();
    }, everyMs);
  };
  const stop = live.subscribe(refetchSoon);
  onceOpen(live, refetchSoon);
  return () => {
    isOver = true;
    stop();
    clearTimeout(timer);
  };
}
