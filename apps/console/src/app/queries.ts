import { notifyManager, QueryClient } from '@tanstack/react-query';

// Not in a later task, as by default: a key that follows the one that sends a form would still meet a dialog that is not busy.
notifyManager.setScheduler(queueMicrotask);

let isShowing = false;

export const newQueryClient = (): QueryClient =>
  new QueryClient({
    defaultOptions: {
      // The client library already retries.
      queries: { retry: false, staleTime: 5_000, networkMode: 'always', refetchOnMount: () => !isShowing },
      mutations: { retry: false, networkMode: 'always' },
    },
  });

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
