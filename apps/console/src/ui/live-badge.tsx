import { Badge, Tooltip } from '@mantine/core';
import type { ReactNode } from 'react';
import { useCell, useSession } from '../auth/session.js';
import type { LiveState } from '../shop/live-events.js';
import { formatDuration } from './numbers.js';

const texts: Readonly<Record<LiveState, readonly [label: string, color: string, meaning: string]>> = {
  live: ['Live', 'green', 'Changes appear as they happen.'],
  connecting: ['Connecting …', 'yellow', 'The event stream is not open. Missed events follow when it is. If that takes long, close other tabs: a browser may open no more than six streams.'],
  off: ['Not live', 'gray', 'No event stream is open.'],
  refused: ['Not live', 'red', 'The shop refused the event stream. Reload the page.'],
};

const offline = ['Offline', 'gray', 'This computer is offline. Missed events follow when it is back.'] as const;

/** Shows whether the page follows the event stream, and its delay. */
export function LiveBadge({ lagMs }: { readonly lagMs?: number | undefined }): ReactNode {
  const { live, connection } = useSession();
  const state = useCell(live.state);
  // The browser may take minutes to notice that the connection is gone.
  const { isAway } = useCell(connection.state);
  const isOnline = useCell(connection.isOnline);
  const [label, color, meaning] = isOnline ? texts[isAway && state === 'live' ? 'connecting' : state] : offline;
  const lag = lagMs === undefined ? '' : ` The last events came ${formatDuration(lagMs)} after the change, by this computer’s clock.`;
  return (
    <Tooltip label={meaning + lag} multiline maw={320}>
      <Badge variant="dot" color={color} size="lg" tt="none" role="status">{label}{lagMs !== undefined && label === 'Live' ? ` · ${formatDuration(lagMs)} behind` : ''}</Badge>
    </Tooltip>
  );
}
