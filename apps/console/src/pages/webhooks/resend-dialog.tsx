import { Button, Group, Progress, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, type SubmitEvent, useState } from 'react';
import { useCell, useShop } from '../../auth/session.js';
import { BackButton, Dialog, ResultActions } from '../../ui/dialog.js';
import { counted, formatNumber } from '../../ui/numbers.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { Time } from '../../ui/time.js';
import { TimeInput } from '../../ui/time-input.js';
import { useChange } from '../../ui/use-change.js';
import { RestoredDraft, useDraft } from '../../ui/use-draft.js';
import { useStayHere } from '../../ui/use-stay-here.js';
import { attemptText } from './delivery-details.js';
import { eventLabel } from './event-labels.js';
import classes from './resend-dialog.module.css';
import { findFailures, type FoundFailures, mostResent, ResendRun, type ResendRow } from './resend-run.js';
import { type Delivery, nameOf, useNewestDeliveries, type Webhook } from './webhook-reads.js';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/** Asks for a period, and sends again what failed in it. */
export function ResendFailed({ webhook, onClose }: { readonly webhook: Webhook; readonly onClose: () => void }): ReactNode {
  const shop = useShop();
  const [yesterday] = useState(() => new Date(Math.floor(Date.now() / minuteMs) * minuteMs - dayMs).toISOString());
  const draft = useDraft<{ since: string | undefined; until: string | undefined }>(`failed deliveries of webhook ${webhook.id}`, { since: yesterday, until: undefined });
  const { since, until } = draft.value;
  const [found, setFound] = useState<FoundFailures & { readonly run: ResendRun }>();
  const find = useChange({
    isRepeatable: true,
    mutationFn: (from: string) => findFailures(shop, webhook.id, new Date(from), until === undefined ? undefined : new Date(until)),
    onSuccess: (failures) => {
      draft.clear();
      setFound({ ...failures, run: new ResendRun(shop, webhook.id, failures.failures) });
    },
  });
  if (found && found.failures.length > 0) return <ResendDialog webhook={webhook} run={found.run} note={<>{found.isCut && `There may be more: these are the newest, at most ${formatNumber(mostResent)}.`}<StillWaiting {...found} /></>} onClose={onClose} />;
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    if (since !== undefined) find.mutate(since);
  };
  return (
    <Dialog isBusy={find.isPending} onClose={onClose} title="Send again what failed">
      <form onSubmit={submit}>
        <Stack>
          <RestoredDraft draft={draft} />
          <Text size="sm">Finds the events of a period that {nameOf(webhook)} did not take, also those that are to be tried again later or wait behind these, unless they were sent again since.</Text>
          <TimeInput label="Since" required data-autofocus value={since} onChange={(time) => draft.change({ since: time })} />
          <TimeInput label="Before" after={since} description="Empty: until now." value={until} onChange={(time) => draft.change({ until: time })} />
          <Text size="sm" role="status">{found && <>{found.isCut ? 'None was found among the newest 20,000 deliveries. There may be older ones.' : 'Nothing of this period failed for good, or all of it was sent again.'}<StillWaiting {...found} /></>}</Text>
          <ProblemAlert error={find.error} title="The deliveries could not be searched" />
          <Group justify="flex-end">
            <BackButton label="Cancel" />
            <Button type="submit" loading={find.isPending}>Find them</Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}

const StillWaiting = ({ waiting, until }: Pick<FoundFailures, 'waiting' | 'until'>): ReactNode => waiting > 0 && (
  <> The shop tries {counted(waiting, 'event')} again without you{until !== undefined && <>, the last <Time at={until} isPlanned /></>}.</>
);

/** Asks once more, then shows the result of each. */
export function ResendDialog({ webhook, run, note = '', onClose }: { readonly webhook: Webhook; readonly run: ResendRun; readonly note?: ReactNode; readonly onClose: () => void }): ReactNode {
  const client = useQueryClient();
  const { rows, isRunning, isBegun } = useCell(run.state);
  const copies = new Set(rows.flatMap(({ copy }) => copy?.id ?? []));
  const newest = useNewestDeliveries(webhook.id, { enabled: copies.size > 0 });
  const results = new Map(newest.data?.map((delivery) => [delivery.id, delivery]));
  useStayHere(isRunning);
  const open = rows.filter(({ state }) => state !== 'scheduled').length;
  const [refused, unknown] = (['refused', 'unknown'] as const).map((one) => rows.filter(({ state }) => state === one).length) as [number, number];
  const delivered = [...copies].filter((id) => results.get(id)?.state === 'delivered').length;
  const send = (): void => void run.run().then(() => client.invalidateQueries({ queryKey: ['webhook', webhook.id] }));
  return (
    <Dialog isBusy={isRunning} onClose={onClose} title={`Send ${counted(rows.length, 'event')} again`} size="xl" closeOnClickOutside={!isBegun}>
      <Stack>
        <Text size="sm">{nameOf(webhook)} gets the same ids and payloads, at once. A receiver that remembers the ids processes none twice. {note}</Text>
        {isBegun && <Progress value={((rows.length - open + refused + unknown) / rows.length) * 100} color={refused + unknown > 0 ? 'orange' : 'green'} aria-label="Events that have a result" />}
        <Text size="sm" fw={500} role="status">{isBegun && `${formatNumber(copies.size)} of ${counted(rows.length, 'event')} sent again, ${formatNumber(delivered)} delivered so far.${refused > 0 ? ` ${counted(refused, 'was', 'were')} refused: each says why.` : ''}${unknown > 0 ? ` Of ${formatNumber(unknown)} it is not known: tried again, none is sent twice.` : ''}`}</Text>
        <ul className={classes['rows']} aria-label="Events" tabIndex={0}>
          {rows.map((row) => <Row key={row.delivery.id} row={row} now={row.copy && (results.get(row.copy.id) ?? row.copy)} />)}
        </ul>
        <ResultActions isBegun={isBegun} isRunning={isRunning}>
          {isRunning ? <Button variant="default" onClick={() => run.stop()}>Stop</Button> : <BackButton label={isBegun ? 'Close' : 'Back'} />}
          {(open > 0 || isRunning) && <Button loading={isRunning} data-autofocus onClick={send}>{isBegun && !isRunning ? `Try ${counted(open, 'event')} again` : `Send ${counted(rows.length, 'event')} again`}</Button>}
        </ResultActions>
      </Stack>
    </Dialog>
  );
}

const Row = ({ row: { delivery, state, why }, now }: { readonly row: ResendRow; readonly now: Delivery | undefined }): ReactNode => (
  <li className={classes['row']}>
    <Text size="sm" style={{ overflowWrap: 'anywhere' }}>{subjectOf(delivery)}</Text>
    <Text size="sm" c={state === 'refused' || state === 'unknown' || now?.state === 'failed' ? 'red' : 'dimmed'} style={{ overflowWrap: 'anywhere' }}>
      {state === 'running' && '…'}
      {state === 'refused' && `Not sent. ${why ?? ''}`}
      {state === 'unknown' && why}
      {now && resultOf(now)}
    </Text>
  </li>
);

const subjectOf = ({ eventType, orderId }: Delivery): string => [eventType === undefined ? '' : eventLabel(eventType), orderId === undefined ? '' : `order ${orderId}`].filter((one) => one !== '').join(' · ');

function resultOf({ state, attempts }: Delivery): string {
  const last = attempts.at(-1);
  if (state === 'delivered') return 'Delivered.';
  if (state === 'held') return 'Held until the webhook is enabled.';
  if (!last) return 'On its way.';
  return `${attemptText(last)}${state === 'pending' ? ' It is tried again.' : ''}`;
}
