import { useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useShop } from '../../auth/session.js';
import { Dialog } from '../../ui/dialog.js';
import { sayDone } from '../../ui/done.js';
import { useEdit } from '../../ui/use-edit.js';
import { ChangedMeanwhile, valuesOf, WebhookForm, type WebhookInput } from './webhook-form.js';
import { readWebhook, type Webhook } from './webhook-reads.js';

/** Edits the webhook. After an edit conflict, the user chooses between the versions. */
export function EditWebhook({ webhook, etag, onClose }: { readonly webhook: Webhook; readonly etag: string | undefined; readonly onClose: () => void }): ReactNode {
  const shop = useShop();
  const client = useQueryClient();
  const path = { webhookId: webhook.id };
  const { draft, save, newer } = useEdit({
    form: `webhook ${webhook.id}`,
    thing: webhook,
    valuesOf,
    etag,
    put: (body: WebhookInput, header) => shop.PUT('/webhooks/{webhookId}', { params: { path, header }, body }),
    read: async () => {
      const { webhook: thing, etag: now } = await readWebhook(shop, webhook.id);
      return { thing, etag: now };
    },
    onSaved: async () => {
      sayDone('The webhook is changed.');
      onClose();
      await client.invalidateQueries({ queryKey: ['webhook', webhook.id] });
    },
  });
  return (
    <Dialog isBusy={save.isPending} onClose={onClose} title="Edit the webhook" size="lg">
      <WebhookForm draft={draft} action={newer ? 'Replace it' : 'Save'} isBusy={save.isPending} error={save.error} conflict={newer && <ChangedMeanwhile now={newer} />} onSubmit={(input) => save.mutate(input)} />
    </Dialog>
  );
}
