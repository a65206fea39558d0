import { Skeleton, Table, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useMay } from '../../auth/session.js';
import type { Order } from '../../shop/day.js';
import { AnchorLink } from '../../ui/anchor-link.js';
import { Card } from '../../ui/card.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { StatusBadge } from '../../ui/status-badge.js';
import { Time } from '../../ui/time.js';
import { attemptText } from '../webhooks/delivery-details.js';
import { eventLabel } from '../webhooks/event-labels.js';
import { nameOf } from '../webhooks/webhook-reads.js';
import { titleOf } from './order-timeline.js';
import { type TimelineEntry, useOrderDeliveries } from './queries.js';

/** Deliveries of this order's events to the user's own webhooks, and for staff to its owner's. @param timeline names the steps that the events tell of */
export function OrderDeliveries({ order, timeline = [] }: { readonly order: Order; readonly timeline: readonly TimelineEntry[] | undefined }): ReactNode {
  const { data, error } = useOrderDeliveries(order);
  const seesOwners = useMay('manage:orders');
  if (!useMay('webhooks')) return null;
  return (
    <Card title="Webhook deliveries" aside={<AnchorLink to="/webhooks" size="xs">{seesOwners ? 'all webhooks' : 'your webhooks'}</AnchorLink>}>
      <ProblemAlert error={error} title="The deliveries could not be loaded" isShown={data !== undefined && data.length > 0} />
      {!data && !error && <Skeleton h={60} />}
      {!error && data?.length === 0 && <Text size="sm" c="dimmed">None of the newest 1,000 deliveries of each of {seesOwners ? 'the owner’s and your' : 'your'} webhooks is about this order.</Text>}
      {data && data.length > 0 && (
        <Table.ScrollContainer minWidth={300}>
          <Table>
            <Table.Thead><Table.Tr><Table.Th>To</Table.Th><Table.Th>State</Table.Th><Table.Th>Last attempt</Table.Th></Table.Tr></Table.Thead>
            <Table.Tbody>
              {data.map(({ id, webhook, eventId, eventType, state, attempts }, n) => {
                // Of a webhook, the newest come first.
                const isOld = data.slice(0, n).some((newer) => newer.eventId === eventId && newer.webhook.id === webhook.id);
                const step = timeline.find((one) => one.eventId === eventId);
                const event = step ? titleOf(step) : eventType === undefined ? '' : eventLabel(eventType);
                const last = attempts.at(-1);
                return (
                  <Table.Tr key={`${webhook.id} ${id}`}>
                    <Table.Td miw={110} style={{ overflowWrap: 'anywhere' }}>
                      <AnchorLink to="/webhooks/$webhookId" params={{ webhookId: webhook.id }} inherit>{nameOf(webhook)}</AnchorLink>
                      <Text size="xs" c="dimmed">{[webhook.owner, event, isOld && 'sent again since'].filter(Boolean).join(' · ')}</Text>
                    </Table.Td>
                    <Table.Td><StatusBadge status={state} /></Table.Td>
                    <Table.Td style={{ overflowWrap: 'anywhere' }}>{last === undefined ? <Text span inherit c="dimmed">{state === 'pending' ? 'Waiting for its turn' : 'None'}</Text> : <>{attemptText(last)} <Text span inherit c="dimmed"><Time at={last.at} /></Text></>}</Table.Td>
                  </Table.Tr>
                );
              })}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
    </Card>
  );
}
