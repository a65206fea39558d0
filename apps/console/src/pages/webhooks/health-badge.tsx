import { Badge, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { healthOf } from './health.js';
import { useRecentDeliveries, type Webhook } from './webhook-reads.js';

/** The endpoint's health and its reason, from the newest deliveries. */
export function HealthBadge({ webhook }: { readonly webhook: Webhook }): ReactNode {
  const { data } = useRecentDeliveries(webhook.id);
  if (!data) return <Text size="sm" c="dimmed">…</Text>;
  const { label, color, why } = healthOf(webhook, data);
  return (
    <Group gap="xs">
      <Badge variant="light" color={color} tt="none" style={{ flexShrink: 0 }}>{label}</Badge>
      <Text size="sm">{why}</Text>
    </Group>
  );
}
