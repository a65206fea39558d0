import { Center, Loader, Text } from '@mantine/core';
import { useDisclosure, useTimeout } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { useCell, useSession } from '../auth/session.js';

/** A request that fails is repeated for up to half a minute before its error is shown. */
const slowMs = 5_000;

/** What is not there yet. */
export function Loading(): ReactNode {
  const { isAway } = useCell(useSession().connection.state);
  const [isSlow, { open }] = useDisclosure();
  useTimeout(open, slowMs, { autoInvoke: true });
  if (isAway || isSlow) return <Center mih={160} role="status"><Text c="dimmed">{isAway ? 'Not loaded yet: waiting for the shop’s answer.' : 'Not loaded yet: the shop is slow, or its answers fail. It is asked again.'}</Text></Center>;
  return <Center mih={160} role="status" aria-label="Loading"><Loader size="sm" /></Center>;
}
