import { notifyManager, QueryCache, QueryClient } from '@tanstack/react-query';
import { isGone } from '../shop/gone.js';

// Not in a later task, as by default: a key that follows the one that sends a form would still meet a dialog that is not busy.
notifyManager.setScheduler(queueMicrotask);

let isShowing = false;

export function newQueryClient(): QueryClient {
  const client: QueryClient = new QueryClient({
    // A part of a thing that somebody else deleted may be the first to notice. Then the page reads the thing itself again.
    queryCache: new QueryCache({
      onError: (error, { queryKey: [kind, id, ...part] }) => {
        if (part.length > 0 && isGone(error)) void client.invalidateQueries({ queryKey: [kind, id], exact: true });
      },
    }),
    defaultOptions: {
      // The client library already retries.
      queries: { retry: false, staleTime: 5_000, networkMode: 'always', refetchOnMount: () => !isShowing },
      mutations: { retry: false, networkMode: 'always' },
    },
  });
  return client;
}

/**
 * Shows a page: what it has is painted before what is old is read again. To be called before its effects run.
 * @returns a function that ends it
 */
export function showFirst(client: QueryClient): () => void {
  isShowing = true;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const frame = requestAnimationFrame(() => {
    timer = setTimeout(() => {
      isShowing = false;
      void client.refetchQueries({ type: 'active', stale: true }, { cancelRefetch: false });
    });
  });
  return () => {
    isShowing = false;
    cancelAnimationFrame(frame);
    clearTimeout(timer);
  };
}
