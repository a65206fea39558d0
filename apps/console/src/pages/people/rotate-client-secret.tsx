import { Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useShop } from '../../auth/session.js';
import { isGone } from '../../shop/gone.js';
import { ConfirmDialog } from '../../ui/confirm-dialog.js';
import { sendOnce } from '../../ui/drafts.js';
import { isolated } from '../../ui/numbers.js';
import { SecretDialog } from '../../ui/secret-dialog.js';
import { useChange } from '../../ui/use-change.js';
import { RestoredDraft, useDraft } from '../../ui/use-draft.js';
import type { OAuthClient } from './people-reads.js';

export function RotateClientSecret({ oauthClient: { clientId, name }, onClose }: { readonly oauthClient: OAuthClient; readonly onClose: () => void }): ReactNode {
  const shop = useShop();
  const client = useQueryClient();
  const draft = useDraft(`replace secret of client ${clientId}`, {});
  const rotate = useChange({
    gcTime: 0,
    mutationFn: async () => (await sendOnce(draft, {}, (_, idempotencyKey) => shop.POST('/oauth/clients/{clientId}/rotateSecret', { params: { path: { clientId } }, idempotencyKey }))).data,
    onSuccess: () => draft.forget(),
    onError: (error) => isGone(error) && client.invalidateQueries({ queryKey: ['oauthClients'] }),
  });
  return (
    <>
      <ConfirmDialog title={`Replace the secret of ${isolated(name)}?`} action="Replace the secret" isOpen={!rotate.data} isBusy={rotate.isPending} error={rotate.error} onConfirm={() => rotate.mutate()} onClose={onClose}>
        <RestoredDraft draft={draft} />
        <Text size="sm">The old secret is refused at once, and its tokens within a second. Users stay logged in to the application once it has the new secret.</Text>
      </ConfirmDialog>
      <SecretDialog title="The new client secret" secret={rotate.data?.secret} onClose={onClose}>Give it to the application in place of the old one.</SecretDialog>
    </>
  );
}
