import { QueryClient } from '@tanstack/react-query';

export const newQueryClient = (): QueryClient =>
  new QueryClient({
    defaultOptions: {
      // The client library already retries.
      queries: { retry: false, staleTime: 5_000, networkMode: 'always' },
      mutations: { retry: false, networkMode: 'always' },
    },
  });
