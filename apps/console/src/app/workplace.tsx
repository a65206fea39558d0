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
  const { connection, lost } = useSession();
  const [client] = useState(newQueryClient);
  const { isAway } = useCell(connection.state);
  const lacking = useCell(lost);
  useLayoutEffect(keepScrollOverReload, []);
  // The shop is reachable again, or the role allows something else: refetch everything.
  useEffect(() => {
    if (!isAway) void client.invalidateQueries();
  }, [client, isAway, lacking]);
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
