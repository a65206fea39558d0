import { Button, Group, Skeleton, Stack, Text, Textarea, Timeline } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, type SubmitEvent, useRef } from 'react';
import { useMay, useSession, useShop } from '../../auth/session.js';
import { Card } from '../../ui/card.js';
import { sayDone } from '../../ui/done.js';
import { sendOnce } from '../../ui/drafts.js';
import { counted, formatNumber, isolated, trimmed } from '../../ui/numbers.js';
import { faultOf } from '../../ui/problem.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { statusColors } from '../../ui/status-badge.js';
import { Time } from '../../ui/time.js';
import { useChange } from '../../ui/use-change.js';
import { RestoredDraft, useDraft } from '../../ui/use-draft.js';
import type { TimelineEntry } from './queries.js';

/** What the shop's own reasons say. Others are what staff wrote. */
const steps: Readonly<Record<string, string>> = {
  placed: 'Placed',
  'payment succeeded': 'Paid',
  'payment succeeded (simulated)': 'Paid, in a simulation',
  'payment failed': 'A payment failed',
  shipped: 'Shipped',
  delivered: 'Delivered',
  'delivered (simulated)': 'Delivered, in a simulation',
  cancelled: 'Cancelled',
  'expired without payment': 'Cancelled: it was not paid in time',
  transferred: 'Transferred',
  'refund due': 'A refund is due',
  refunded: 'Refunded',
  note: 'Note',
};

const actors: Readonly<Record<TimelineEntry['actor'], string>> = { owner: 'the customer', staff: 'staff', store: 'the shop' };

export function OrderTimeline({ orderId, entries, error }: { readonly orderId: number; readonly entries: readonly TimelineEntry[] | undefined; readonly error: unknown }): ReactNode {
  const mayNote = useMay('manage:orders');
  const { clientId } = useSession();
  return (
    <Card title="Timeline">
      <ProblemAlert error={error} title="The timeline could not be loaded" isShown={entries !== undefined} />
      {!entries && !error && <Skeleton h={160} />}
      {entries && (
        <Timeline active={entries.length - 1} bulletSize={18} lineWidth={2} style={{ overflowWrap: 'anywhere' }}>
          {entries.map((entry, n) => (
            <Timeline.Item key={n} color={entry.reason === 'note' ? 'yellow' : (statusColors[entry.newStatus] ?? 'gray')} title={<Text fw={500} size="sm">{titleOf(entry, entries.slice(0, n).some(({ reason }) => reason === 'shipped'))}</Text>}>
              {entry.note !== undefined && <Text size="sm" style={{ whiteSpace: 'pre-wrap' }}>{entry.note}</Text>}
              <Text size="sm" c="dimmed"><Time at={entry.at} /> · by {actorOf(entry, clientId)}</Text>
              {entry.carrier !== undefined && <Text size="sm">{entry.carrier}, <Text span inherit ff="monospace">{entry.trackingNumber}</Text></Text>}
            </Timeline.Item>
          ))}
        </Timeline>
      )}
      {entries && <NewNote orderId={orderId} mayAdd={mayNote} />}
    </Card>
  );
}

/** @param wasShipped before this entry */
export function titleOf({ reason, newStatus, owner }: TimelineEntry, wasShipped = false): string {
  if (reason === 'shipped' && wasShipped) return 'Shipment corrected';
  if (reason === 'transferred') return owner === undefined ? 'Transferred' : `Transferred to ${owner}`;
  return steps[reason] ?? (newStatus === 'cancelled' ? `Cancelled: ${reason.replace(/^cancelled: /, '')}` : reason);
}

/** @param own the console's OAuth client, by which everybody here acts */
function actorOf({ actor, username, application }: TimelineEntry, own: string): string {
  const person = username === undefined ? actors[actor] : `${username}, ${actors[actor]}`;
  return application && application.clientId !== own ? `${person}, by ${isolated(application.name)}` : person;
}

/** Characters of a note at most. */
const longestNote = 2_000;

/** Adds a note that only staff see. What somebody had typed who may add none any more can still be read and copied. */
function NewNote({ orderId, mayAdd }: { readonly orderId: number; readonly mayAdd: boolean }): ReactNode {
  const shop = useShop();
  const client = useQueryClient();
  const draft = useDraft(`note on order ${orderId}`, { text: '' });
  const { text } = draft.value;
  const latest = useRef(text);
  latest.current = text;
  const { length } = Array.from(text.trim());
  const add = useChange({
    isRepeatable: true,
    mutationFn: async () => {
      await sendOnce(draft, { text: trimmed(text) }, (body, idempotencyKey) => shop.POST('/store/order/{orderId}/note', { params: { path: { orderId } }, body, idempotencyKey }));
      return text;
    },
    onSuccess: (sent) => {
      draft.clear();
      // What was typed meanwhile is the next note.
      if (latest.current !== sent) draft.change({ text: latest.current.startsWith(sent) ? latest.current.slice(sent.length).trimStart() : latest.current });
      sayDone('The note is added.');
      return client.invalidateQueries({ queryKey: ['order', orderId, 'timeline'] });
    },
  });
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    add.mutate();
  };
  if (!mayAdd && text === '') return null;
  return (
    <form onSubmit={submit}>
      <Stack gap="xs" mt="md">
        <RestoredDraft draft={draft} />
        <Textarea label="Note" description={`For staff: the customer does not see it.${length < 0.9 * longestNote ? '' : ` ${counted(length, 'character')} of at most ${formatNumber(longestNote)}.`}`} autosize minRows={2} maxRows={8} readOnly={!mayAdd} value={text} onChange={({ currentTarget: { value } }) => draft.change({ text: value })} error={faultOf(add.error, 'text')} />
        {faultOf(add.error, 'text') === undefined && <ProblemAlert error={add.error} title="The note was not added" />}
        <Group justify="flex-end"><Button type="submit" size="xs" variant="default" loading={add.isPending} disabled={!mayAdd || text.trim() === ''}>Add the note</Button></Group>
      </Stack>
    </form>
  );
}
