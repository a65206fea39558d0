import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { ExplainedBadge } from '../../ui/status-badge.js';
import { Time } from '../../ui/time.js';
import { type Health, healthOf, recent, shortHealthOf } from './health.js';
import { usePendingDeliveries, useRecentDeliveries, type Webhook } from './webhook-reads.js';

/** The endpoint's health and its reason, from the newest deliveries. */
export function HealthBadge({ webhook }: { readonly webhook: Webhook }): ReactNode {
  const { data } = useRecentDeliveries(webhook.id);
  const isAll = data !== undefined && data.length < recent;
  const { data: pending } = usePendingDeliveries(webhook.id, { enabled: data !== undefined && !isAll });
  if (!data || !(isAll || pending)) return <Text size="sm" c="dimmed">…</Text>;
  return <Shown webhook={webhook} health={healthOf(webhook, data, pending)} />;
}

/** What the shop itself says of it, without its deliveries: in a list, where each would be read. */
export const ShortHealth = ({ webhook }: { readonly webhook: Webhook }): ReactNode => <Shown webhook={webhook} health={shortHealthOf(webhook)} />;

const Shown = ({ webhook, health: { label, color, why, until } }: { readonly webhook: Webhook; readonly health: Health }): ReactNode => (
  <ExplainedBadge label={label} color={color}>
    {why === '' ? undefined : <>{why}{label === 'Failing' && webhook.failingSince !== undefined && <> It began to fail <Time at={webhook.failingSince} />.</>}{until !== undefined && <> The last attempt of these is <Time at={until} isPlanned />.</>}</>}
  </ExplainedBadge>
);
