import { Button, Group, Select, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useShop } from '../../auth/session.js';
import { BackButton, Dialog } from '../../ui/dialog.js';
import { sendOnce } from '../../ui/drafts.js';
import { defaultGrace, graceChoices } from '../../ui/grace.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { SecretDialog } from '../../ui/secret-dialog.js';
import { formatExact } from '../../ui/time.js';
import { useChange } from '../../ui/use-change.js';
import { RestoredDraft, useDraft } from '../../ui/use-draft.js';
import type { Webhook } from './webhook-reads.js';

export function RotateSecret({ webhook: { id: webhookId }, onClose }: { readonly webhook: Webhook; readonly onClose: () => void }): ReactNode {
  const shop = useShop();
  const draft = useDraft(`replace secret of webhook ${webhookId}`, { graceSeconds: defaultGrace });
  const { graceSeconds } = draft.value;
  const rotate = useChange({
    gcTime: 0,
    mutationFn: async () => (await sendOnce(draft, { graceSeconds: Number(graceSeconds) }, (body, idempotencyKey) => shop.POST('/webhooks/{webhookId}/rotateSecret', { params: { path: { webhookId } }, body, idempotencyKey }))).data,
    onSuccess: () => draft.forget(),
  });
  return (
    <>
      <Dialog isOpen={!rotate.data} isBusy={rotate.isPending} onClose={onClose} title="Replace the secret?">
        <Stack>
          <RestoredDraft draft={draft} />
          <Text size="sm">The shop creates a new secret. For a while it signs every request with both, so that the receiver can switch without losing an event. A secret that was replaced before ends at once.</Text>
          <Select label="The old secret expires" data={graceChoices} value={graceSeconds} onChange={(value) => draft.change({ graceSeconds: value ?? defaultGrace })} allowDeselect={false} />
          <ProblemAlert error={rotate.error} />
          <Group justify="flex-end">
            <BackButton hasFocus />
            <Button loading={rotate.isPending} onClick={() => rotate.mutate()}>Replace the secret</Button>
          </Group>
        </Stack>
      </Dialog>
      <SecretDialog title="The new secret" secret={rotate.data?.secret} onClose={onClose}>
        Give it to the receiver. The old one signs too until {rotate.data && formatExact(rotate.data.previousUntil)}.
      </SecretDialog>
    </>
  );
}
