import type { UseQueryResult } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { useSession } from '../auth/session.js';
import type { LiveEvents } from './live-events.js';

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
  // What comes between the read and the opening of the stream has no event.
  if (live.state.get() !== 'live') void live.opened().then(refetchSoon, () => undefined);
  return () => {
    isOver = true;
    stop();
    clearTimeout(timer);
  };
}
