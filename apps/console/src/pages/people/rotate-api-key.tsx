import { Button, Group, Select, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useShop } from '../../auth/session.js';
import { BackButton, Dialog } from '../../ui/dialog.js';
import { sendOnce } from '../../ui/drafts.js';
import { defaultGrace, graceChoices } from '../../ui/grace.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { SecretDialog } from '../../ui/secret-dialog.js';
import { Time } from '../../ui/time.js';
import { useChange } from '../../ui/use-change.js';
import { RestoredDraft, useDraft } from '../../ui/use-draft.js';
import type { ApiKey } from './people-reads.js';

export function RotateApiKey({ username, apiKey: { id: apiKeyId, expiresAt }, called, onClose }: { readonly username: string; readonly apiKey: ApiKey; readonly called: string; readonly onClose: () => void }): ReactNode {
  const shop = useShop();
  const client = useQueryClient();
  const draft = useDraft(`replace API key ${apiKeyId}`, { graceSeconds: defaultGrace });
  const { graceSeconds } = draft.value;
  const rotate = useChange({
    gcTime: 0,
    mutationFn: async () =>
      (await sendOnce(draft, { graceSeconds: Number(graceSeconds) }, (body, idempotencyKey) => shop.POST('/user/{username}/apiKeys/{apiKeyId}/rotation', { params: { path: { username, apiKeyId } }, body, idempotencyKey }))).data,
    onSuccess: () => draft.forget(),
    // Also if it failed: then it may be gone, or replaced already.
    onSettled: () => client.invalidateQueries({ queryKey: ['user', username, 'apiKeys'] }),
  });
  return (
    <>
      <Dialog isOpen={!rotate.data} isBusy={rotate.isPending} onClose={onClose} title={`Replace ${called}?`}>
        <Stack>
          <RestoredDraft draft={draft} />
          <Text size="sm">The shop creates another key with the same name and permissions. The old key stays valid for a while, so that the program can switch.{expiresAt !== undefined && <> Both end <Time at={expiresAt} isPlanned /> at the latest.</>}</Text>
          <Select label="The old key expires" data={graceChoices} value={graceSeconds} onChange={(value) => draft.change({ graceSeconds: value ?? defaultGrace })} allowDeselect={false} />
          <ProblemAlert error={rotate.error} />
          <Group justify="flex-end">
            <BackButton hasFocus />
            <Button loading={rotate.isPending} onClick={() => rotate.mutate()}>Replace the key</Button>
          </Group>
        </Stack>
      </Dialog>
      <SecretDialog title="The new API key" secret={rotate.data?.key} onClose={onClose}>Give it to the program in place of the old one.</SecretDialog>
    </>
  );
}
