import { Alert, Button, Checkbox, Group, MultiSelect, Stack, Text, Textarea, TextInput } from '@mantine/core';
import type { ReactNode, SubmitEvent } from 'react';
import { faultOf } from '../../ui/problem.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { PlantField } from '../../ui/plant-field.js';
import { type Draft, RestoredDraft } from '../../ui/use-draft.js';
import { WholeNumberInput } from '../../ui/whole-number-input.js';
import { orderStatuses } from '../orders/order-filter.js';
import { eventLabel, eventLabels, eventTypes as allTypes } from './event-labels.js';
import { nameOf, type Webhook } from './webhook-reads.js';

/** The webhook's fields that users set. */
export type WebhookInput = Pick<Webhook, 'url' | 'name' | 'eventTypes' | 'orderId' | 'plantId' | 'newStatuses' | 'description'>;

/** The form's values, as typed. */
export interface WebhookValues {
  readonly url: string;
  readonly name: string;
  readonly eventTypes: string[];
  readonly orderId: string;
  readonly plantId?: number | undefined;
  /** Words of the plant's name that have not found it yet. */
  readonly plantText?: string | undefined;
  readonly newStatuses: string[];
  readonly description: string;
}

export const valuesOf = ({ url, name = '', eventTypes, orderId, plantId, newStatuses = [], description = '' }: WebhookInput): WebhookValues =>
  ({ url, name, eventTypes, orderId: String(orderId ?? ''), plantId, newStatuses, description });

export function WebhookForm({ draft, action, isBusy, error, conflict, onSubmit, onCancel }: {
  readonly draft: Draft<WebhookValues>;
  readonly action: string;
  readonly isBusy: boolean;
  readonly error: unknown;
  /** Shown instead of the error after an edit conflict. */
  readonly conflict?: ReactNode;
  readonly onSubmit: (input: WebhookInput) => void;
  readonly onCancel: () => void;
}): ReactNode {
  const { url, name, eventTypes, orderId, plantId, plantText, newStatuses, description } = draft.value;

  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    onSubmit({
      url: url.trim(),
      ...(name.trim() !== '' && { name: name.trim() }),
      eventTypes: allTypes.filter((type) => eventTypes.includes(type)),
      ...(orderId.trim() !== '' && { orderId: Number(orderId) }),
      ...(plantId !== undefined && { plantId }),
      ...(newStatuses.length > 0 && { newStatuses: orderStatuses.filter((one) => newStatuses.includes(one)) }),
      ...(description.trim() !== '' && { description: description.trim() }),
    });
  };

  return (
    <form onSubmit={submit}>
      <Stack>
        <RestoredDraft draft={draft} />
        <TextInput label="Address" description="The shop sends each event to it by POST." type="url" placeholder="https://example.com/hooks/plants" required data-autofocus value={url} onChange={(change) => draft.change({ url: change.currentTarget.value })} error={faultOf(error, 'url')} />
        <TextInput label="Name" description="To tell it from other webhooks." value={name} onChange={(change) => draft.change({ name: change.currentTarget.value })} error={faultOf(error, 'name')} />
        <Checkbox.Group label="Events" value={eventTypes} onChange={(value) => draft.change({ eventTypes: value })} error={eventTypes.length === 0 ? 'Choose at least one.' : faultOf(error, 'eventTypes')}>
          <Stack gap={6} mt={4}>
            {allTypes.map((type) => <Checkbox key={type} value={type} label={<>{eventLabels[type]} <Text span c="dimmed" size="sm">{type}</Text></>} />)}
          </Stack>
        </Checkbox.Group>
        <Group grow align="flex-start">
          <PlantField label="Only plant" placeholder="all" value={plantId} text={plantText} onChange={(value) => draft.change({ plantId: value })} onText={(text) => draft.change({ plantText: text })} error={faultOf(error, 'plantId')} />
          <WholeNumberInput label="Only order" placeholder="all" min={1} value={orderId} onChange={(value) => draft.change({ orderId: value })} error={faultOf(error, 'orderId')} />
        </Group>
        <MultiSelect label="Only changes to" placeholder={newStatuses.length === 0 ? 'all' : ''} data={orderStatuses} value={newStatuses} onChange={(value) => draft.change({ newStatuses: value })} error={faultOf(error, 'newStatuses')} />
        <Textarea label="Description" autosize minRows={2} maxRows={6} value={description} onChange={(change) => draft.change({ description: change.currentTarget.value })} error={faultOf(error, 'description')} />
        {conflict ?? <ProblemAlert error={error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>Cancel</Button>
          <Button type="submit" loading={isBusy} disabled={eventTypes.length === 0}>{action}</Button>
        </Group>
      </Stack>
    </form>
  );
}

/** Shows the current version after an edit conflict. */
export const ChangedMeanwhile = ({ now }: { readonly now: Webhook }): ReactNode => (
  <Alert color="yellow" variant="light" title="Someone else has changed it" role="alert">
    <Text size="sm">It is now: {now.name === undefined ? '' : `${nameOf(now)}, `}{now.url}, {now.eventTypes.map(eventLabel).join(', ')}{now.plantId === undefined ? '' : `, plant ${now.plantId}`}{now.orderId === undefined ? '' : `, order ${now.orderId}`}{now.newStatuses === undefined ? '' : `, to ${now.newStatuses.join(', ')}`}, {now.state}{now.description === undefined ? '' : `, “${now.description}”`}.</Text>
    <Text size="sm">Save again to replace it with your version, or cancel to keep it.</Text>
  </Alert>
);
