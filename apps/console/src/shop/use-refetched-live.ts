import type { UseQueryResult } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useSession } from '../auth/session.js';

/** Refetches a query with the shop's events. @param everyMs at most this often */
export function useRefetchedLive<Data>(query: UseQueryResult<Data>, everyMs: number): UseQueryResult<Data> {
  const { live } = useSession();
  const { refetch } = query;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = live.subscribe(() => {
      timer ??= setTimeout(() => {
        timer = undefined;
        void refetch();
      }, everyMs);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [live, refetch, everyMs]);
  return query;
}
