import { Button, Checkbox, Group, Radio, Stack, Textarea, TextInput } from '@mantine/core';
import type { components } from '@plant-shop/client';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, type SubmitEvent, useState } from 'react';
import { useShop } from '../../auth/session.js';
import { BackButton, Dialog } from '../../ui/dialog.js';
import { sayDone } from '../../ui/done.js';
import { sendOnce } from '../../ui/drafts.js';
import { trimmed } from '../../ui/numbers.js';
import { faultOf } from '../../ui/problem.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { SecretDialog } from '../../ui/secret-dialog.js';
import { useChange } from '../../ui/use-change.js';
import { type Draft, RestoredDraft, useDraft } from '../../ui/use-draft.js';
import { UserField } from '../../ui/user-field.js';
import type { GrantedPermission } from './people-reads.js';
import { PermissionChoice } from './permissions.js';

type NewClient = components['schemas']['NewOAuthClient'];

/** The form, then the secret if the client gets one. */
export function NewOAuthClient({ onClose }: { readonly onClose: () => void }): ReactNode {
  const shop = useShop();
  const client = useQueryClient();
  const draft = useDraft<ClientValues>('new OAuth client', { name: '', kind: 'application', redirectUris: '', isPublic: false, owner: '', scopes: [] });
  const create = useChange({
    gcTime: 0,
    mutationFn: async (input: NewClient) => (await sendOnce(draft, input, (body, idempotencyKey) => shop.POST('/oauth/clients', { body, idempotencyKey }))).data,
    onSuccess: ({ secret, clientId }) => {
      draft.clear();
      if (secret !== undefined) return;
      sayDone(`The client is registered as ${clientId}.`);
      onClose();
    },
    // Also if the answer was lost: it may be there.
    onSettled: () => client.invalidateQueries({ queryKey: ['oauthClients'] }),
  });
  return (
    <>
      <Dialog isOpen={create.data?.secret === undefined} isBusy={create.isPending} onClose={onClose} title="New OAuth client" size="lg">
        <ClientForm draft={draft} isBusy={create.isPending} error={create.error} onSubmit={(input) => create.mutate(input)} />
      </Dialog>
      <SecretDialog title="The client secret" secret={create.data?.secret} onClose={onClose}>The application sends it with its client id, {create.data?.clientId}.</SecretDialog>
    </>
  );
}

interface ClientValues {
  readonly name: string;
  readonly kind: string;
  readonly redirectUris: string;
  readonly isPublic: boolean;
  readonly owner: string;
  readonly scopes: GrantedPermission[];
}

function ClientForm({ draft, isBusy, error, onSubmit }: {
  readonly draft: Draft<ClientValues>;
  readonly isBusy: boolean;
  readonly error: unknown;
  readonly onSubmit: (input: NewClient) => void;
}): ReactNode {
  const { name, kind, redirectUris, isPublic, owner, scopes } = draft.value;
  const isProgram = kind === 'program';
  const [isAsked, setAsked] = useState(false);
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    setAsked(true);
    if (scopes.length === 0) return;
    onSubmit(
      isProgram
        ? { name: trimmed(name), grantTypes: ['client_credentials'], scopes, owner: trimmed(owner) }
        : { name: trimmed(name), grantTypes: ['authorization_code', 'refresh_token'], scopes, redirectUris: redirectUris.split(/\s+/).filter(Boolean), public: isPublic },
    );
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <RestoredDraft draft={draft} />
        <TextInput label="Name" {...(!isProgram && { description: 'Users see it when they are asked for consent.' })} required data-autofocus value={name} onChange={(change) => draft.change({ name: change.currentTarget.value })} error={faultOf(error, 'name')} />
        <Radio.Group label="It is" value={kind} onChange={(value) => draft.change({ kind: value })}>
          <Stack gap={6} mt={4}><Radio value="application" label="an application that people log in to" /><Radio value="program" label="a program that gets tokens for itself" /></Stack>
        </Radio.Group>
        {isProgram
          ? <UserField label="Acts for the user" required value={owner} onChange={(value) => draft.change({ owner: value })} error={faultOf(error, 'owner')} />
          : (
            <>
              <Textarea label="Redirect addresses" description="One per line, compared exactly." required autosize minRows={2} placeholder="https://planner.example/callback" value={redirectUris} onChange={(change) => draft.change({ redirectUris: change.currentTarget.value })} error={faultOf(error, 'redirectUris')} />
              <Checkbox label="Public: it cannot keep a secret, for instance in a browser, and gets none" checked={isPublic} onChange={(change) => draft.change({ isPublic: change.currentTarget.checked })} />
            </>
          )}
        <PermissionChoice label="It may" value={scopes} onChange={(value) => draft.change({ scopes: value })} error={faultOf(error, 'scopes') ?? (isAsked && scopes.length === 0 ? 'Choose at least one.' : undefined)} />
        <ProblemAlert error={error} />
        <Group justify="flex-end">
          <BackButton label="Cancel" />
          <Button type="submit" loading={isBusy}>Register the client</Button>
        </Group>
      </Stack>
    </form>
  );
}
