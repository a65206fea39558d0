import { Button, Checkbox, Group, Progress, Radio, Stack, Text, TextInput } from '@mantine/core';
import { ShopProblem } from '@plant-shop/client';
import { type ReactNode, type SubmitEvent, useState } from 'react';
import { BackButton, Dialog, ResultActions } from '../../ui/dialog.js';
import { counted, formatNumber } from '../../ui/numbers.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { faultOf, Refusal } from '../../ui/problem.js';
import { TimeInput } from '../../ui/time-input.js';
import { type Draft, RestoredDraft, useDraft } from '../../ui/use-draft.js';
import { eventLabel } from './event-labels.js';
import { nameOf, useWaiting, type Waiting, type Webhook } from './webhook-reads.js';
import { type ReplayCount, type ReplayRange, useReplay, useReplayPreview } from './use-replay.js';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const unknownCursor = new Refusal('The place to go on from is unknown.', 'Write another cursor, or choose “a time” under “From”.');

/** Replays a period and shows the progress. */
export function ReplayDialog({ webhook, onClose }: { readonly webhook: Webhook; readonly onClose: () => void }): ReactNode {
  const [yesterday] = useState(() => new Date(Math.floor(Date.now() / minuteMs) * minuteMs - 24 * hourMs).toISOString());
  const draft = useDraft<PeriodValues>(`replay of webhook ${webhook.id}`, { since: yesterday, from: 'time', cursor: '', onlyFailed: false });
  const replay = useReplay(webhook.id, draft.clear);
  const isAsking = replay.state === 'idle' || replay.error !== undefined;
  return (
    <Dialog isBusy={replay.state === 'scheduling'} onClose={onClose} title="Replay a period" size="lg">
      {isAsking ? <PeriodForm webhook={webhook} draft={draft} error={replay.error} onStart={replay.start} /> : <ReplayProgress webhook={webhook} {...replay} />}
    </Dialog>
  );
}

interface PeriodValues {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly from: 'time' | 'cursor';
  readonly cursor: string;
  readonly onlyFailed: boolean;
}

function PeriodForm({ webhook, draft, error, onStart }: { readonly webhook: Webhook; readonly draft: Draft<PeriodValues>; readonly error: unknown; readonly onStart: (range: ReplayRange) => void }): ReactNode {
  const { since, until, from, cursor, onlyFailed } = draft.value;
  const [isRead, setRead] = useState(true);
  const range = isRead ? rangeOf(draft.value) : undefined;
  const preview = useReplayPreview(webhook.id, range);
  const { data: found } = preview;
  const refusal = error ?? preview.error;
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    if (range && found) onStart(range);
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <RestoredDraft draft={draft} />
        <Text size="sm">The shop sends the events of the period again, with the same ids, after those that still wait. Receivers that remember the ids process none twice.</Text>
        <Radio.Group label="From" value={from} onChange={(value) => draft.change({ from: value })}>
          <Group mt={4}><Radio value="time" label="a time" /><Radio value="cursor" label="a cursor of the stream" /></Group>
        </Radio.Group>
        {from === 'time'
          ? <TimeInput label="Since" required data-autofocus value={since} onChange={(value) => draft.change({ since: value })} error={faultOf(refusal, 'since')} />
          : <TextInput label="After the cursor" required value={cursor} onChange={(change) => draft.change({ cursor: change.currentTarget.value })} error={faultOf(refusal, 'fromCursor')} />}
        <TimeInput label="Before" after={from === 'time' ? since : undefined} description="Empty: until now." value={until} onChange={(value) => draft.change({ until: value })} onRead={setRead} error={faultOf(refusal, 'until')} />
        <Checkbox label="Only deliveries that failed" checked={onlyFailed} onChange={(change) => draft.change({ onlyFailed: change.currentTarget.checked })} />
        <Text size="sm" fw={500} role="status">{found ? previewText(webhook, found) : range && !refusal ? 'Counting the events …' : ''}</Text>
        <ProblemAlert error={refusal instanceof ShopProblem && refusal.is('invalid-cursor') ? unknownCursor : refusal} title={error === undefined ? 'The events could not be counted' : 'Nothing more was scheduled'} />
        <Group justify="flex-end">
          <BackButton label="Cancel" />
          <Button type="submit" disabled={!found || found.count === 0}>{found ? `Replay ${countText(found)}` : 'Replay'}</Button>
        </Group>
      </Stack>
    </form>
  );
}

/** The range that the form asks for; undefined while it is incomplete. */
function rangeOf({ since, until, from, cursor, onlyFailed }: PeriodValues): ReplayRange | undefined {
  if (from === 'time' ? since === undefined : cursor.trim() === '') return undefined;
  return {
    ...(from === 'time' ? since !== undefined && { since } : { fromCursor: cursor.trim() }),
    ...(until !== undefined && { until }),
    onlyFailed,
  };
}

const countText = ({ count, isMore }: ReplayCount): string => `${counted(count, 'event')}${isMore ? ' or more' : ''}`;

function previewText(webhook: Webhook, found: ReplayCount): string {
  if (found.count === 0) return 'No event of the period would be sent.';
  const { eventTypes, orderId, plantId, newStatuses } = webhook;
  const only = [orderId === undefined ? '' : ` of order ${orderId}`, plantId === undefined ? '' : ` of plant ${plantId}`, newStatuses === undefined ? '' : `, changes only to ${newStatuses.join(', ')}`].join('');
  return `${nameOf(webhook)} would get ${countText(found)}: ${eventTypes.map((type) => eventLabel(type).toLowerCase()).join('; ')}${only}.`;
}

function ReplayProgress({ webhook, state, scheduled, stop }: {
  readonly webhook: Webhook;
  readonly state: 'idle' | 'scheduling' | 'stopped' | 'done';
  readonly scheduled: number;
  readonly stop: () => void;
}): ReactNode {
  const isScheduling = state === 'scheduling';
  const { data: pending } = useWaiting(webhook.id, { enabled: !isScheduling });
  const sent = pending === undefined ? 0 : Math.max(scheduled - pending.count, 0);
  const isKnown = pending?.isMore === false && webhook.state !== 'disabled';
  const share = scheduled === 0 ? 100 : (sent / scheduled) * 100;
  return (
    <Stack>
      <Text role="status">{isScheduling ? `${counted(scheduled, 'event')} scheduled so far …` : `${counted(scheduled, 'event')} ${scheduled === 1 ? 'is' : 'are'} scheduled.`}</Text>
      {(isScheduling || isKnown) && <Progress value={isScheduling ? 100 : share} animated={isScheduling} aria-label={isScheduling ? 'Scheduling' : 'Sent'} />}
      {!isScheduling && scheduled > 0 && <Text size="sm">{waitingText(webhook, pending)}</Text>}
      {state === 'stopped' && <Text size="sm">You stopped it: later events of the period are not scheduled.</Text>}
      <ResultActions isBegun isRunning={isScheduling}>
        {isScheduling ? <Button variant="default" onClick={stop}>Stop</Button> : <BackButton label="Close" />}
      </ResultActions>
    </Stack>
  );
}

function waitingText({ state }: Webhook, pending: Waiting | undefined): string {
  if (state === 'disabled') return 'They are held until the webhook is enabled.';
  if (!pending) return 'They are on their way.';
  if (pending.count === 0) return 'No event is waiting any more. The list below shows the results.';
  return `${formatNumber(pending.count)}${pending.isMore ? ' or more' : ''} of this webhook still wait to be sent.`;
}
