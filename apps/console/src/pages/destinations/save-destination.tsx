import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useShop } from '../../auth/session.js';
import { Dialog } from '../../ui/dialog.js';
import { sayDone } from '../../ui/done.js';
import { sendOnce } from '../../ui/drafts.js';
import { type Change, useChange } from '../../ui/use-change.js';
import { useDraft } from '../../ui/use-draft.js';
import { useEdit } from '../../ui/use-edit.js';
import { ChangedMeanwhile, DestinationForm, type DestinationInput, type DestinationValues, inputOf, valuesOf } from './destination-form.js';
import { type Destination, readDestination } from './destination-reads.js';

/** The form, then the new destination's page. */
export function CreateDestination({ onClose }: { readonly onClose: () => void }): ReactNode {
  const shop = useShop();
  const client = useQueryClient();
  const navigate = useNavigate();
  const draft = useDraft<DestinationValues>('new destination', { name: '', url: '', stream: '', subject: '', perSecond: '', eventTypes: ['order.status_changed'], newStatuses: [] });
  const create = useChange({
    mutationFn: async (input: DestinationInput) => (await sendOnce(draft, input, (body, idempotencyKey) => shop.POST('/destinations', { body, idempotencyKey }))).data,
    onSuccess: async ({ id }) => {
      sayDone('The destination is created. It gets the events from now on.');
      draft.clear();
      onClose();
      await navigate({ to: '/destinations/$destinationId', params: { destinationId: id } });
      await client.invalidateQueries({ queryKey: ['destinations'] });
    },
  });
  return (
    <Dialog isBusy={create.isPending} onClose={onClose} title="New destination" size="lg">
      <DestinationForm draft={draft} action="Create the destination" isBusy={create.isPending} error={create.error} onSubmit={(input) => create.mutate(input)} />
    </Dialog>
  );
}

/** Edits the destination. After an edit conflict, the user chooses between the versions. */
export function EditDestination({ destination, etag, onClose }: { readonly destination: Destination; readonly etag: string | undefined; readonly onClose: () => void }): ReactNode {
  const shop = useShop();
  const client = useQueryClient();
  const path = { destinationId: destination.id };
  const { draft, save, newer } = useEdit({
    form: `destination ${destination.id}`,
    thing: destination,
    valuesOf,
    etag,
    put: (body: DestinationInput, header) => shop.PUT('/destinations/{destinationId}', { params: { path, header }, body }),
    read: async () => {
      const { destination: thing, etag: now } = await readDestination(shop, destination.id);
      return { thing, etag: now };
    },
    onSaved: async () => {
      sayDone('The destination is changed.');
      onClose();
      await client.invalidateQueries({ queryKey: ['destination', destination.id] });
    },
  });
  return (
    <Dialog isBusy={save.isPending} onClose={onClose} title="Edit the destination" size="lg">
      <DestinationForm draft={draft} before={draft.value.seen.values} action={newer ? 'Replace it' : 'Save'} isBusy={save.isPending} error={save.error} conflict={newer && <ChangedMeanwhile now={newer} />} onSubmit={(input) => save.mutate(input)} />
    </Dialog>
  );
}

/** Enables or disables a destination, unless it has changed since it was shown. */
export function useSetState(destination: Destination, etag: string | undefined): Change<Destination, Destination['state']> {
  const shop = useShop();
  const client = useQueryClient();
  const { id: destinationId } = destination;
  return useChange({
    isRepeatable: true,
    mutationFn: async (state: Destination['state']) => {
      const header = etag === undefined ? {} : { 'If-Match': etag };
      return (await shop.PUT('/destinations/{destinationId}', { params: { path: { destinationId }, header }, body: { ...inputOf(valuesOf(destination)), state } })).data;
    },
    onSuccess: ({ state }) => sayDone(state === 'enabled' ? 'The destination is enabled. It gets what it lacks.' : 'The destination is disabled.'),
    onSettled: () => client.invalidateQueries({ queryKey: ['destination', destinationId] }),
  });
}
