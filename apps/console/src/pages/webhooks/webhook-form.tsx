import { Button, Group, Stack, Textarea, TextInput } from '@mantine/core';
import type { ReactNode, SubmitEvent } from 'react';
import { BackButton } from '../../ui/dialog.js';
import { trimmed } from '../../ui/numbers.js';
import { faultOf } from '../../ui/problem.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { type Draft, RestoredDraft } from '../../ui/use-draft.js';
import { ChangedByOthers } from '../../ui/use-edit.js';
import { WholeNumberInput } from '../../ui/whole-number-input.js';
import { type EventFilterValues, EventFilterFields, filterOf, filterValuesOf } from './event-filter.js';
import { eventLabel } from './event-labels.js';
import { nameOf, type Webhook } from './webhook-reads.js';

/** The webhook's fields that users set. */
export type WebhookInput = Pick<Webhook, 'url' | 'name' | 'eventTypes' | 'orderId' | 'plantId' | 'newStatuses' | 'description'>;

/** The form's values, as typed. */
export interface WebhookValues extends EventFilterValues {
  readonly url: string;
  readonly name: string;
  readonly orderId: string;
  readonly description: string;
}

export const valuesOf = ({ url, name = '', orderId, description = '', ...filter }: WebhookInput): WebhookValues =>
  ({ url, name, orderId: String(orderId ?? ''), description, ...filterValuesOf(filter) });

export function WebhookForm({ draft, action, isBusy, error, conflict, onSubmit }: {
  readonly draft: Draft<WebhookValues>;
  readonly action: string;
  readonly isBusy: boolean;
  readonly error: unknown;
  /** Shown instead of the error after an edit conflict. */
  readonly conflict?: ReactNode;
  readonly onSubmit: (input: WebhookInput) => void;
}): ReactNode {
  const { url, name, eventTypes, orderId, description } = draft.value;

  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    onSubmit({
      url: trimmed(url),
      ...(trimmed(name) !== '' && { name: trimmed(name) }),
      ...filterOf(draft.value),
      ...(orderId.trim() !== '' && { orderId: Number(orderId) }),
      ...(trimmed(description) !== '' && { description: trimmed(description) }),
    });
  };

  return (
    <form onSubmit={submit}>
      <Stack>
        <RestoredDraft draft={draft} />
        <TextInput label="Address" description="The shop sends each event to it by POST." type="url" placeholder="https://example.com/hooks/plants" required data-autofocus value={url} onChange={(change) => draft.change({ url: change.currentTarget.value })} error={faultOf(error, 'url')} />
        <TextInput label="Name" description="To tell it from other webhooks." value={name} onChange={(change) => draft.change({ name: change.currentTarget.value })} error={faultOf(error, 'name')} />
        <EventFilterFields draft={draft} error={error}>
          <WholeNumberInput label="Only order" placeholder="all" min={1} value={orderId} onChange={(value) => draft.change({ orderId: value })} error={faultOf(error, 'orderId')} />
        </EventFilterFields>
        <Textarea label="Description" autosize minRows={2} maxRows={6} value={description} onChange={(change) => draft.change({ description: change.currentTarget.value })} error={faultOf(error, 'description')} />
        {conflict ?? <ProblemAlert error={error} />}
        <Group justify="flex-end">
          <BackButton label="Cancel" />
          <Button type="submit" loading={isBusy} disabled={eventTypes.length === 0}>{action}</Button>
        </Group>
      </Stack>
    </form>
  );
}

/** Shows the current version after an edit conflict. */
export const ChangedMeanwhile = ({ now }: { readonly now: Webhook }): ReactNode => (
  <ChangedByOthers>{now.name === undefined ? '' : `${nameOf(now)}, `}{now.url}, {now.eventTypes.map(eventLabel).join(', ')}{now.plantId === undefined ? '' : `, plant ${now.plantId}`}{now.orderId === undefined ? '' : `, order ${now.orderId}`}{now.newStatuses === undefined ? '' : `, to ${now.newStatuses.join(', ')}`}, {now.state}{now.description === undefined ? '' : `, “${now.description}”`}</ChangedByOthers>
);
