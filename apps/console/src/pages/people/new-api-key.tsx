import { Button, Group, Radio, Stack, TextInput } from '@mantine/core';
import type { components } from '@plant-shop/client';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, type SubmitEvent, useState } from 'react';
import { useShop } from '../../auth/session.js';
import { BackButton, Dialog } from '../../ui/dialog.js';
import { sendOnce } from '../../ui/drafts.js';
import { trimmed } from '../../ui/numbers.js';
import { faultOf } from '../../ui/problem.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { SecretDialog } from '../../ui/secret-dialog.js';
import { TimeInput } from '../../ui/time-input.js';
import { useChange } from '../../ui/use-change.js';
import { type Draft, RestoredDraft, useDraft } from '../../ui/use-draft.js';
import type { GrantedPermission } from './people-reads.js';
import { PermissionChoice } from './permissions.js';

/** The form, then the key. */
export function NewApiKey({ username, onClose }: { readonly username: string; readonly onClose: () => void }): ReactNode {
  const shop = useShop();
  const client = useQueryClient();
  const draft = useDraft<KeyValues>(`new API key of ${username}`, { name: '', extent: 'default', permissions: [] });
  const create = useChange({
    gcTime: 0,
    mutationFn: async (input: components['schemas']['NewApiKey']) =>
      (await sendOnce(draft, input, (body, idempotencyKey) => shop.POST('/user/{username}/apiKeys', { params: { path: { username } }, body, idempotencyKey }))).data,
    onSuccess: draft.clear,
    // Also if the answer was lost: it may be there.
    onSettled: () => client.invalidateQueries({ queryKey: ['user', username, 'apiKeys'] }),
  });
  return (
    <>
      <Dialog isOpen={!create.data} isBusy={create.isPending} onClose={onClose} title={`New API key for ${username}`} size="lg">
        <KeyForm draft={draft} isBusy={create.isPending} error={create.error} onSubmit={(input) => create.mutate(input)} />
      </Dialog>
      <SecretDialog title="The new API key" secret={create.data?.key} onClose={onClose}>Programs send it in the header api_key.</SecretDialog>
    </>
  );
}

interface KeyValues {
  readonly name: string;
  readonly extent: string;
  readonly permissions: GrantedPermission[];
  readonly expiresAt?: string | undefined;
}

function KeyForm({ draft, isBusy, error, onSubmit }: {
  readonly draft: Draft<KeyValues>;
  readonly isBusy: boolean;
  readonly error: unknown;
  readonly onSubmit: (input: components['schemas']['NewApiKey']) => void;
}): ReactNode {
  const { name, extent, permissions, expiresAt } = draft.value;
  const isChosen = extent === 'chosen';
  const lacksPermissions = isChosen && permissions.length === 0;
  const [isAsked, setAsked] = useState(false);
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    setAsked(true);
    if (lacksPermissions) return;
    onSubmit({ name: trimmed(name), ...(isChosen && { permissions }), ...(expiresAt !== undefined && { expiresAt }) });
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <RestoredDraft draft={draft} />
        <TextInput label="Name" description="What the key is for." required data-autofocus value={name} onChange={(change) => draft.change({ name: change.currentTarget.value })} error={faultOf(error, 'name')} />
        <Radio.Group label="It may do" value={extent} onChange={(value) => draft.change({ extent: value })}>
          <Stack gap={6} mt={4}><Radio value="default" label="place orders and receive webhooks" /><Radio value="chosen" label="what you choose" /></Stack>
        </Radio.Group>
        {isChosen && <PermissionChoice label="Permissions" value={permissions} onChange={(value) => draft.change({ permissions: value })} error={faultOf(error, 'permissions') ?? (isAsked && lacksPermissions ? 'Choose at least one.' : undefined)} />}
        <TimeInput label="Expires" after={new Date().toISOString()} description="Empty: never." value={expiresAt} onChange={(value) => draft.change({ expiresAt: value })} error={faultOf(error, 'expiresAt')} />
        <ProblemAlert error={error} />
        <Group justify="flex-end">
          <BackButton label="Cancel" />
          <Button type="submit" loading={isBusy}>Create the key</Button>
        </Group>
      </Stack>
    </form>
  );
}
