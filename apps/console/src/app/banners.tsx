import { Alert, Button, Group, Text } from '@mantine/core';
import { IconLock, IconPlugConnectedX, IconRefresh } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { LostPermissions } from '../auth/permissions.js';
import { useCell, useSession } from '../auth/session.js';
import { sentWhileAway, type Services } from '../shop/connection.js';
import { isIncomplete } from '../shop/lazy-file.js';
import { ProblemMessage } from '../ui/problem-alert.js';

/** How often a page whose reader lost permissions asks whether they are back. */
const roleMs = 10_000;

/** Messages for all pages: the shop cannot be reached, or a part of the console is missing. */
export function Banners(): ReactNode {
  const session = useSession();
  const { connection: shop } = session;
  const connection = useCell(shop.state);
  const isOnline = useCell(shop.isOnline);
  const incomplete = useCell(isIncomplete);
  const lost = useCell(session.lost);
  const [seen, setSeen] = useState(lost);
  // No event tells of a role: it is also read whenever the page comes into view again.
  useQuery({ queryKey: ['role'], queryFn: () => session.followRole().then(() => null), initialData: null, refetchInterval: lost.size > 0 && roleMs });
  return (
    <div aria-live="polite">
      {connection.isAway && (
        <Alert color="orange" variant="light" mb="md" icon={<IconPlugConnectedX />} title={!isOnline ? 'This computer has no network' : connection.services ? 'Part of the shop cannot be reached' : 'The shop cannot be reached'}>
          {isOnline && `${whatIsAway(connection.services)} `}This page may be out of date. It refreshes when the shop is back. {sentWhileAway}
        </Alert>
      )}
      {lost.size > 0 && lost !== seen && (
        <Alert color="orange" variant="light" mb="md" icon={<IconLock />} title="You may do less than before" withCloseButton closeButtonLabel="Close" onClose={() => setSeen(lost)}>
          <ProblemMessage error={new LostPermissions([...lost])} />
        </Alert>
      )}
      {incomplete && (
        <Alert color="blue" variant="light" mb="md" icon={<IconRefresh />} title="This page has to be reloaded">
          <Group justify="space-between">
            <Text size="sm">A file of the console did not come: it has a new version, or the network was lost. Entries that you have not saved are lost.</Text>
            <Button size="xs" onClick={() => location.reload()}>Reload</Button>
          </Group>
        </Alert>
      )}
    </div>
  );
}

function whatIsAway(services: Services | undefined): string {
  if (!services) return 'It does not answer.';
  const missing = Object.entries(services).flatMap(([name, state]) => (state === 'ready' ? [] : [name]));
  if (missing.length === 0) return 'Some requests fail.';
  return `Not ready: ${missing.join(', ')}.`;
}
