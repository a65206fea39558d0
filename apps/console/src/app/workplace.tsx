import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import { useCell, useSession } from '../auth/session.js';
import { newQueryClient } from './queries.js';
import { router } from './router.js';

/** The pages, for a person who is logged in. */
export function Workplace(): ReactNode {
  const { connection } = useSession();
  const [client] = useState(newQueryClient);
  const { isAway } = useCell(connection.state);
  // Back again: everything that is shown is read once more.
  useEffect(() => {
    if (!isAway) void client.invalidateQueries();
  }, [client, isAway]);
  return (
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  );
}
