import { Button, Group, Radio, Stack, Text, Textarea, TextInput } from '@mantine/core';
import type { components } from '@plant-shop/client';
import { type ReactNode, type SubmitEvent, useState } from 'react';
import { BackButton } from '../../ui/dialog.js';
import { trimmed } from '../../ui/numbers.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { faultOf } from '../../ui/problem.js';
import { type Draft, RestoredDraft } from '../../ui/use-draft.js';
import { ChangedByOthers } from '../../ui/use-edit.js';
import { WholeNumberInput } from '../../ui/whole-number-input.js';
import { type EventFilterValues, EventFilterFields, filterOf, filterValuesOf } from '../webhooks/event-filter.js';
import { eventLabel } from '../webhooks/event-labels.js';
import type { Destination } from './destination-reads.js';

export type DestinationInput = components['schemas']['NewDestination'];

/** The form's values as typed, without the credentials: drafts keep no secrets. */
export interface DestinationValues extends EventFilterValues {
  readonly name: string;
  readonly url: string;
  readonly stream: string;
  readonly subject: string;
  readonly perSecond: string;
  readonly hasCredentials?: boolean;
  /** Which credentials are chosen, without them. Absent: as at first. */
  readonly way?: Way;
}

const ways = { same: 'those that are stored', none: 'none', password: 'a user and a password', token: 'a token', creds: 'a .creds file' };
type Way = keyof typeof ways;

export const valuesOf = ({ name, url, stream, subject, perSecond, hasCredentials, ...filter }: Omit<Destination, 'id' | 'state' | 'connected' | 'behindEvents' | 'behindSeconds' | 'createdAt'>): DestinationValues =>
  ({ name, url, stream, subject, perSecond: String(perSecond), hasCredentials, ...filterValuesOf(filter) });

/** What the values ask for. Fields that are left empty have the shop's defaults. */
export const inputOf = ({ name, url, stream, subject, perSecond, ...filter }: DestinationValues): DestinationInput => ({
  name: trimmed(name),
  url: trimmed(url),
  stream: trimmed(stream),
  ...(trimmed(subject) !== '' && { subject: trimmed(subject) }),
  ...(perSecond.trim() !== '' && { perSecond: Number(perSecond) }),
  ...filterOf(filter),
});

/** @param before the destination that is changed, as it was when the form opened; absent for a new one */
export function DestinationForm({ draft, before, action, isBusy, error, conflict, onSubmit }: {
  readonly draft: Draft<DestinationValues>;
  readonly before?: Pick<DestinationValues, 'url' | 'hasCredentials'>;
  readonly action: string;
  readonly isBusy: boolean;
  readonly error: unknown;
  /** Shown instead of the error after an edit conflict. */
  readonly conflict?: ReactNode;
  readonly onSubmit: (input: DestinationInput) => void;
}): ReactNode {
  const { name, url, stream, subject, eventTypes, perSecond, way: chosen } = draft.value;
  const [secrets, setSecrets] = useState({ user: '', password: '', token: '', creds: '' });
  // The shop sends what is stored to no other address, and keeps it while the address stays.
  const keeps = before?.hasCredentials === true && before.url === trimmed(url);
  const offered = (Object.keys(ways) as Way[]).filter((one) => one !== (keeps ? 'none' : 'same'));
  const way = chosen !== undefined && offered.includes(chosen) ? chosen : keeps ? 'same' : 'none';
  const secretField = (field: keyof typeof secrets) => ({ value: secrets[field], onChange: (change: { currentTarget: { value: string } }) => setSecrets({ ...secrets, [field]: change.currentTarget.value }), required: true, autoComplete: 'off' });

  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const { user, password, token, creds } = secrets;
    const credentials = { password: { user, password }, token: { token }, creds: { creds }, same: undefined, none: undefined }[way];
    onSubmit({ ...inputOf(draft.value), ...(credentials && { credentials }) });
  };

  return (
    <form onSubmit={submit}>
      <Stack>
        <RestoredDraft draft={draft} />
        <TextInput label="Name" required data-autofocus value={name} onChange={(change) => draft.change({ name: change.currentTarget.value })} error={faultOf(error, 'name')} />
        <TextInput label="Address" description="Of a NATS server with JetStream. With several servers, a name that leads to all of them." placeholder="tls://broker.example:4222" required value={url} onChange={(change) => draft.change({ url: change.currentTarget.value })} error={faultOf(error, 'url')} />
        <Group grow align="flex-start">
          <TextInput label="Stream" description="It must exist." required value={stream} onChange={(change) => draft.change({ stream: change.currentTarget.value })} error={faultOf(error, 'stream')} />
          <TextInput label="Subjects begin with" description="The stream must have them." placeholder="shop.events" value={subject} onChange={(change) => draft.change({ subject: change.currentTarget.value })} error={faultOf(error, 'subject')} />
        </Group>
        <Radio.Group label="Credentials" value={way} onChange={(value) => draft.change({ way: value })} error={faultOf(error, 'credentials')}>
          <Group mt={4}>{offered.map((one) => <Radio key={one} value={one} label={ways[one]} />)}</Group>
        </Radio.Group>
        {before?.hasCredentials === true && !keeps && <Text size="sm">The stored credentials stay with the former address. Enter those of this one.</Text>}
        {way === 'password' && (
          <Group grow align="flex-start">
            <TextInput label="User" {...secretField('user')} />
            <TextInput label="Password" type="password" {...secretField('password')} autoComplete="new-password" />
          </Group>
        )}
        {way === 'token' && <TextInput label="Token" type="password" {...secretField('token')} autoComplete="new-password" />}
        {way === 'creds' && <Textarea label="Text of the .creds file" rows={4} spellCheck={false} {...secretField('creds')} />}
        <EventFilterFields draft={draft} error={error}>
          <WholeNumberInput label="Most events a second" placeholder="50000" min={1} max={1_000_000} value={perSecond} onChange={(value) => draft.change({ perSecond: value })} error={faultOf(error, 'perSecond')} />
        </EventFilterFields>
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
export const ChangedMeanwhile = ({ now }: { readonly now: Destination }): ReactNode => (
  <ChangedByOthers>{now.name}, {now.url}, stream {now.stream} with {now.subject}.&gt;, {now.eventTypes.map(eventLabel).join(', ')}{now.plantId === undefined ? '' : `, plant ${now.plantId}`}{now.newStatuses === undefined ? '' : `, to ${now.newStatuses.join(', ')}`}, at most {now.perSecond} a second, {now.state}</ChangedByOthers>
);
