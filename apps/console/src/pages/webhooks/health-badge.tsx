import { Badge, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Time } from '../../ui/time.js';
import { healthOf } from './health.js';
import { recent, usePendingDeliveries, useRecentDeliveries, type Webhook } from './webhook-reads.js';

/** The endpoint's health and its reason, from the newest deliveries. */
export function HealthBadge({ webhook }: { readonly webhook: Webhook }): ReactNode {
  const { data } = useRecentDeliveries(webhook.id);
  const isAll = data !== undefined && data.length < recent;
  const { data: pending } = usePendingDeliveries(webhook.id, { enabled: data !== undefined && !isAll });
  if (!data || !(isAll || pending)) return <Text size="sm" c="dimmed">…</Text>;
  const { label, color, why } = healthOf(webhook, data, pending);
  return (
    <Group gap="xs">
      <Badge variant="light" color={color} tt="none" style={{ flexShrink: 0 }}>{label}</Badge>
      <Text size="sm">{why}{label === 'Failing' && webhook.failingSince !== undefined && <> It began to fail <Time at={webhook.failingSince} />.</>}</Text>
    </Group>
  );
}
