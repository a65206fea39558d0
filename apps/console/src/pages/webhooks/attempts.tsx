import { Badge, Code, List, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { formatDuration } from '../../ui/numbers.js';
import { Time } from '../../ui/time.js';
import type { Delivery, DeliveryState } from './webhook-reads.js';

type Attempt = Delivery['attempts'][number];

/** All attempts of a delivery: time, response and duration. */
export const Attempts = ({ delivery: { eventId, attempts } }: { readonly delivery: Delivery }): ReactNode => (
  <>
    <Text size="sm" mb={4}>Sent with the header <Code>webhook-id: {eventId}</Code></Text>
    {attempts.length === 0 && <Text size="sm">No attempts yet.</Text>}
    <List type="ordered" size="sm">
      {attempts.map((attempt) => (
        <List.Item key={attempt.at}>
          <Time at={attempt.at} />: {attemptText(attempt)} <Text span inherit c="dimmed">({formatDuration(attempt.durationMs)})</Text>
        </List.Item>
      ))}
    </List>
  </>
);

/** Returns the result of an attempt as a sentence. */
export const attemptText = ({ status, error }: Attempt): string => error ?? (status === undefined ? 'There was no answer.' : `The receiver answered ${status}.`);

const colors: Readonly<Record<DeliveryState, string>> = { pending: 'yellow', held: 'gray', delivered: 'green', failed: 'red' };

export const DeliveryBadge = ({ state }: { readonly state: DeliveryState }): ReactNode => <Badge variant="light" miw="max-content" color={colors[state]} tt="none">{state}</Badge>;
