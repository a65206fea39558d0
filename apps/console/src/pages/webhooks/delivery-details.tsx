import { Badge, Code, List, SimpleGrid, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Loading } from '../../ui/loading.js';
import { counted, formatDuration } from '../../ui/numbers.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { Time, useIsAhead } from '../../ui/time.js';
import classes from './delivery-details.module.css';
import { eventLabel } from './event-labels.js';
import { type Delivery, type DeliveryState, type DetailedDelivery, isOwn, useDelivery, type Webhook } from './webhook-reads.js';

type Attempt = Delivery['attempts'][number];
type DetailedAttempt = DetailedDelivery['attempts'][number];
type Answer = NonNullable<DetailedDelivery['response']>;

/** What a delivery sends, each attempt with its answer, and what follows. */
export function DeliveryDetails({ webhook, delivery }: { readonly webhook: Webhook; readonly delivery: Delivery }): ReactNode {
  const { data, error } = useDelivery(webhook.id, delivery);
  const { eventId, eventType, attempts, attemptsLeft = 0 } = delivery;
  return (
    <Stack gap="xs" className={classes['details'] ?? ''}>
      <Text size="sm">
        {eventType !== undefined && <>{eventLabel(eventType)} <Code>{eventType}</Code> · </>}event <Code>{eventId}</Code>
      </Text>
      <Text size="sm" fw={500}><WhatFollows delivery={delivery} mayUse={isOwn(webhook)} /></Text>
      <ProblemAlert error={error} title="The requests and answers could not be loaded" isShown={data !== undefined} />
      {attempts.length > 0 && !data && !error && <Loading />}
      {data?.request && <Block label={`Payload of delivery ${delivery.id}`} title="Payload" text={pretty(data.request.body)} />}
      {data && !data.request && attempts.length > 0 && <Text size="sm">Your role does not show you what this event says.</Text>}
      <List type="ordered" size="sm" spacing="sm" listStyleType="none" styles={{ itemWrapper: { display: 'block' }, itemLabel: { width: '100%' } }}>
        {attempts.map((attempt, n) => (
          <List.Item key={attempt.at}>
            <Text size="sm"><b>Attempt {n + 1} of {attempts.length + attemptsLeft}</b> · <Time at={attempt.at} />: {attemptText(attempt)} <Text span inherit c="dimmed">({formatDuration(attempt.durationMs)})</Text></Text>
            {data?.attempts[n]?.request && <Exchange no={n + 1} attempt={data.attempts[n]} answer={n + 1 === attempts.length && data.response ? data.response : data.attempts[n].response} />}
          </List.Item>
        ))}
      </List>
    </Stack>
  );
}

function WhatFollows({ delivery: { state, nextAttemptAt, attemptsLeft, attempts }, mayUse }: { readonly delivery: Delivery; readonly mayUse: boolean }): ReactNode {
  const isScheduled = useIsAhead(nextAttemptAt);
  if (state === 'delivered') return 'Delivered. Nothing follows.';
  if (state === 'failed') return `Failed. The shop does not try again by itself; ${mayUse ? 'you' : 'its owner'} can send it again.`;
  const left = attemptsLeft === undefined ? '' : ` ${counted(attemptsLeft, 'attempt is', 'attempts are')} left.`;
  if (state === 'held') return `Held until the webhook is enabled.${left}`;
  if (!isScheduled) return `${attempts.length === 0 ? 'It waits for its turn, or is being sent.' : 'It is being sent, or waits for its turn.'}${left}`;
  return <>Next attempt <Time at={nextAttemptAt} isPlanned />.{left}</>;
}

const Exchange = ({ no, attempt: { request, status }, answer }: { readonly no: number; readonly attempt: DetailedAttempt; readonly answer: Answer | undefined }): ReactNode => (
  <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="xs" mt={4}>
    <Block label={`Headers of attempt ${no}`} title="Request headers" text={headersText(request?.headers ?? {})}>
      {request?.headers['webhook-signature'] === undefined && <Text size="xs" c="dimmed">The secret that signed it no longer exists.</Text>}
    </Block>
    {answer
      ? <Block label={`Answer to attempt ${no}`} title="Answer" text={[headersText(answer.headers), pretty(answer.body)].filter((one) => one !== '').join('\n\n')}>{answer.truncated && <Text size="xs" c="dimmed">The answer went on.</Text>}</Block>
      : <div><Text size="xs" c="dimmed">Answer</Text><Text size="sm">{status === undefined ? 'None.' : 'It said nothing more.'}</Text></div>}
  </SimpleGrid>
);

const Block = ({ title, label, text, children }: { readonly title: string; readonly label: string; readonly text: string; readonly children?: ReactNode }): ReactNode => (
  <div>
    <Text size="xs" c="dimmed">{title}</Text>
    <Code block role="region" aria-label={label} tabIndex={0} className={classes['code'] ?? ''}>{text}</Code>
    {children}
  </div>
);

const headersText = (headers: Readonly<Record<string, string>>): string => Object.entries(headers).map(([name, value]) => `${name}: ${value}`).join('\n');

/** Indents JSON; any other text stays as it is. */
function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** Returns the result of an attempt as a sentence. */
export const attemptText = ({ status, error }: Attempt): string => error ?? (status === undefined ? 'There was no answer.' : `The receiver answered ${status}.`);

const colors: Readonly<Record<DeliveryState, string>> = { pending: 'yellow', held: 'gray', delivered: 'green', failed: 'red' };

export const DeliveryBadge = ({ state }: { readonly state: DeliveryState }): ReactNode => <Badge variant="light" miw="max-content" color={colors[state]} tt="none">{state}</Badge>;
