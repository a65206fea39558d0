import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { type ReactNode, useEffect, useLayoutEffect, useState } from 'react';
import { PasswordDialog } from '../auth/password-question.js';
import { useCell, useSession } from '../auth/session.js';
import { newQueryClient } from './queries.js';
import { keepScrollOverReload, loadAllPages, router } from './router.js';

/** The first page and its data come first. */
const loadAllPagesAfterMs = 2_000;

/** The console's pages, for a logged-in user. */
export function Workplace(): ReactNode {
  const { connection } = useSession();
  const [client] = useState(newQueryClient);
  const { isAway } = useCell(connection.state);
  useLayoutEffect(keepScrollOverReload, []);
  // The shop is reachable again: refetch everything.
  useEffect(() => {
    if (!isAway) void client.invalidateQueries();
  }, [client, isAway]);
  useEffect(() => {
    const timer = setTimeout(() => void loadAllPages(), loadAllPagesAfterMs);
    return () => clearTimeout(timer);
  }, []);
  return (
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
      <PasswordDialog />
    </QueryClientProvider>
  );
}
