import { Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { memo, type ReactNode } from 'react';
import { useCell, useSession } from '../../auth/session.js';
import { Card } from '../../ui/card.js';
import { StatusBadge } from '../../ui/status-badge.js';

const services = ['gateway', 'catalog', 'store', 'identity', 'notifications'] as const;
const duties: Readonly<Record<(typeof services)[number], string>> = {
  gateway: 'answers the API',
  catalog: 'plants and images',
  store: 'orders and stock',
  identity: 'users and logins',
  notifications: 'stream and webhooks',
};

/** State of the five services, from `/readyz`. */
export const Health = memo(function Health(): ReactNode {
  const { connection } = useSession();
  const isOnline = useCell(connection.isOnline);
  const { data, isPending } = useQuery({
    queryKey: ['health'],
    // Of the others, only the gateway knows.
    queryFn: async () => (await connection.check()) ?? { gateway: 'no answer' },
    refetchInterval: 5_000,
  });
  return (
    <Card title="Services">
      <Stack gap="xs" component="ul" p={0} m={0} style={{ listStyle: 'none' }}>
        {services.map((service) => {
          const state = isPending ? '…' : !isOnline ? 'unknown' : (data?.[service] ?? 'unknown');
          return (
            <Group key={service} component="li" justify="space-between" wrap="nowrap">
              <div>
                <Text size="sm" fw={500}>{service}</Text>
                <Text size="xs" c="dimmed">{duties[service]}</Text>
              </div>
              <StatusBadge status={state.startsWith('slow') ? 'slow' : ['…', 'ready', 'unknown'].includes(state) ? state : 'failed'} label={state} />
            </Group>
          );
        })}
      </Stack>
    </Card>
  );
});
