import { ActionIcon, Anchor, Button, Checkbox, Table, Text } from '@mantine/core';
import { IconChevronDown, IconChevronRight } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useShop } from '../../auth/session.js';
import { sayDone } from '../../ui/done.js';
import { ProblemMessage } from '../../ui/problem-alert.js';
import { Time, useIsAhead } from '../../ui/time.js';
import { useChange } from '../../ui/use-change.js';
import { attemptText, DeliveryBadge } from './delivery-details.js';
import { eventLabel } from './event-labels.js';
import { useForgotten } from './use-set-state.js';
import { type Delivery, isOwn, type Webhook } from './webhook-reads.js';

export function DeliveryRow({ webhook, delivery, isOpen, isSelected, onToggle, onSelect }: {
  readonly webhook: Webhook;
  readonly delivery: Delivery;
  readonly isOpen: boolean;
  readonly isSelected: boolean;
  readonly onToggle: () => void;
  readonly onSelect: () => void;
}): ReactNode {
  const shop = useShop();
  const client = useQueryClient();
  const isWaiting = delivery.state === 'pending';
  const resend = useChange({
    isRepeatable: true,
    mutationFn: async (_, again) => (await shop.POST('/webhooks/{webhookId}/deliveries/{deliveryId}/resend', { params: { path: { webhookId: webhook.id, deliveryId: delivery.id } }, ...again })).data,
    onSuccess: async ({ state }) => {
      sayDone(state === 'held' ? 'The event is held until the webhook is enabled.' : isWaiting ? 'The event is sent now. Its own delivery still waits.' : 'The event will be sent again.');
      await client.invalidateQueries({ queryKey: ['webhook', webhook.id] });
    },
  });
  useForgotten(resend, webhook);
  const { attempts, attemptsLeft, eventType, orderId, nextAttemptAt, state } = delivery;
  const last = attempts.at(-1);
  const mayUse = isOwn(webhook);
  const again = isWaiting ? 'Send now' : 'Send again';
  // Without it, an earlier event of the order comes first; in the past, the endpoint recovers from a failure.
  const isScheduled = useIsAhead(nextAttemptAt);
  return (
    <Table.Tr {...(isSelected && { bg: 'var(--mantine-primary-color-light)' })}>
      {mayUse && <Table.Td><Checkbox size="xs" aria-label={`Select delivery ${delivery.id}`} checked={isSelected} onChange={onSelect} /></Table.Td>}
      <Table.Td>
        <ActionIcon variant="subtle" color="gray" aria-expanded={isOpen} aria-controls={isOpen ? `attempts-${delivery.id}` : undefined} aria-label={`Attempts of delivery ${delivery.id}`} onClick={onToggle}>
          {isOpen ? <IconChevronDown size={16} /> : <IconChevronRight size={16} />}
        </ActionIcon>
      </Table.Td>
      <Table.Td><DeliveryBadge state={state} /></Table.Td>
      <Table.Td>
        {orderId !== undefined && <Anchor component={Link} to={`/orders/${orderId}`} size="sm" display="block">Order {orderId}</Anchor>}
        {eventType !== undefined && <Text size="sm" title={eventType} {...(orderId !== undefined && { c: 'dimmed' })}>{eventLabel(eventType)}</Text>}
      </Table.Td>
      <Table.Td><Time at={last?.at} size="sm" /></Table.Td>
      <Table.Td maw={300}>
        {last !== undefined && <Text size="sm" style={{ overflowWrap: 'anywhere' }}>{attemptText(last)}</Text>}
        {isWaiting && <Text size="sm" c="dimmed">{isScheduled ? <>Next attempt <Time at={nextAttemptAt} isPlanned /></> : 'Waiting for its turn'}{attempts.length > 0 && attemptsLeft !== undefined && `, ${attemptsLeft} left`}</Text>}
        {resend.error !== null && <Text size="sm" c="red" role="alert"><ProblemMessage error={resend.error} isShort /></Text>}
      </Table.Td>
      {mayUse && <Table.Td><Button size="compact-sm" variant="default" loading={resend.isPending} aria-label={`${again} delivery ${delivery.id}`} onClick={() => resend.mutate()}>{again}</Button></Table.Td>}
    </Table.Tr>
  );
}
