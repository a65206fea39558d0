import { Center, Loader, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useCell, useSession } from '../auth/session.js';

/** What is not there yet. */
export function Loading(): ReactNode {
  const { isAway } = useCell(useSession().connection.state);
  if (isAway) return <Center mih={160} role="status"><Text c="dimmed">Not loaded yet: waiting for the shop’s answer.</Text></Center>;
  return <Center mih={160} role="status" aria-label="Loading"><Loader size="sm" /></Center>;
}
