import { ActionIcon, Anchor, Badge, Button, Table, Text } from '@mantine/core';
import { IconChevronDown, IconChevronRight } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useShop } from '../../auth/session.js';
import { sayDone } from '../../ui/done.js';
import { problemText } from '../../ui/problem.js';
import { Time, useNow } from '../../ui/time.js';
import { useChange } from '../../ui/use-change.js';
import { attemptText, DeliveryBadge } from './attempts.js';
import type { Delivery, Webhook } from './webhook-reads.js';

export function DeliveryRow({ webhook, delivery, isOpen, onToggle }: {
  readonly webhook: Webhook;
  readonly delivery: Delivery;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}): ReactNode {
  const shop = useShop();
  const client = useQueryClient();
  const resend = useChange({
    isRepeatable: true,
    mutationFn: async () => (await shop.POST('/webhooks/{webhookId}/deliveries/{deliveryId}/resend', { params: { path: { webhookId: webhook.id, deliveryId: delivery.id } } })).data,
    onSuccess: async ({ state }) => {
      sayDone(state === 'held' ? 'The event is held until the webhook is enabled.' : 'The event is sent again.');
      await client.invalidateQueries({ queryKey: ['webhook', webhook.id] });
    },
  });
  const { attempts, orderId, nextAttemptAt, state } = delivery;
  const last = attempts.at(-1);
  const now = useNow();
  // Without it, an earlier event of the order comes first; in the past, the endpoint recovers from a failure.
  const isScheduled = nextAttemptAt !== undefined && Date.parse(nextAttemptAt) > now;
  return (
    <Table.Tr>
      <Table.Td>
        <ActionIcon variant="subtle" color="gray" aria-expanded={isOpen} aria-controls={isOpen ? `attempts-${delivery.id}` : undefined} aria-label={`Attempts of delivery ${delivery.id}`} onClick={onToggle}>
          {isOpen ? <IconChevronDown size={16} /> : <IconChevronRight size={16} />}
        </ActionIcon>
      </Table.Td>
      <Table.Td><DeliveryBadge state={state} /></Table.Td>
      <Table.Td>{orderId === undefined ? <Badge variant="default" tt="none">Test</Badge> : <Anchor component={Link} to={`/orders/${orderId}`} size="sm">Order {orderId}</Anchor>}</Table.Td>
      <Table.Td><Time at={last?.at} size="sm" /></Table.Td>
      <Table.Td maw={300}>
        {last !== undefined && <Text size="sm" style={{ overflowWrap: 'anywhere' }}>{attemptText(last)}</Text>}
        {state === 'pending' && <Text size="sm" c="dimmed">{isScheduled ? <>Next attempt <Time at={nextAttemptAt} isPlanned /></> : 'Waiting for its turn'}</Text>}
        {resend.error !== null && <Text size="sm" c="red" role="alert">{problemText(resend.error).what}</Text>}
      </Table.Td>
      <Table.Td><Button size="compact-sm" variant="default" loading={resend.isPending} aria-label={`Send again delivery ${delivery.id}`} onClick={() => resend.mutate()}>Send again</Button></Table.Td>
    </Table.Tr>
  );
}
