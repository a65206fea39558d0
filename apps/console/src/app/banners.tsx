import { Alert, Button, Group, Text } from '@mantine/core';
import { IconPlugConnectedX, IconRefresh } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { useCell, useSession } from '../auth/session.js';
import type { Services } from '../shop/connection.js';
import { isOutdated } from './new-release.js';

/** What concerns every page: the shop is away, or this page is of an older release. */
export function Banners(): ReactNode {
  const connection = useCell(useSession().connection.state);
  const outdated = useCell(isOutdated);
  return (
    <div aria-live="polite">
      {connection.isAway && (
        <Alert color="orange" variant="light" mb="md" icon={<IconPlugConnectedX />} title="The shop is away">
          {whatIsAway(connection.services)} What you see may be out of date. It is refreshed as soon as the shop is back.
        </Alert>
      )}
      {outdated && (
        <Alert color="blue" variant="light" mb="md" icon={<IconRefresh />} title="The shop has a new release">
          <Group justify="space-between">
            <Text size="sm">This page is from the one before. Load it again to continue; forms that you have not sent are lost.</Text>
            <Button size="xs" onClick={() => location.reload()}>Load it again</Button>
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
