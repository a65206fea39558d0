import { Modal } from '@mantine/core';
import { ShopProblem } from '@plant-shop/client';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useShop } from '../../auth/session.js';
import { sayDone } from '../../ui/done.js';
import { useChange } from '../../ui/use-change.js';
import { useDraft } from '../../ui/use-draft.js';
import { ChangedMeanwhile, valuesOf, WebhookForm, type WebhookValues, type WebhookInput } from './webhook-form.js';
import { readWebhook, type Webhook } from './webhook-reads.js';

/** Edits the webhook. After an edit conflict, the user chooses between the versions. */
export function EditWebhook({ webhook, etag, onClose }: { readonly webhook: Webhook; readonly etag: string | undefined; readonly onClose: () => void }): ReactNode {
  const shop = useShop();
  const client = useQueryClient();
  // With the version that the user saw, even if the page has read a newer one.
  const draft = useDraft<WebhookValues & { readonly seen: string | undefined }>(`webhook ${webhook.id}`, { ...valuesOf(webhook), seen: etag });
  const { seen } = draft.value;
  const [newer, setNewer] = useState<Webhook>();
  const save = useChange({
    mutationFn: async (input: WebhookInput) => {
      const header = seen === undefined ? {} : { 'If-Match': seen };
      try {
        await shop.PUT('/webhooks/{webhookId}', { params: { path: { webhookId: webhook.id }, header }, body: input });
      } catch (error) {
        if (error instanceof ShopProblem && error.status === 412) {
          const now = await readWebhook(shop, webhook.id);
          draft.change({ seen: now.etag });
          setNewer(now.webhook);
        }
        throw error;
      }
    },
    onSuccess: async () => {
      sayDone('The webhook is changed.');
      draft.clear();
      onClose();
      await client.invalidateQueries({ queryKey: ['webhook', webhook.id] });
    },
  });
  const conflict = newer && save.error instanceof ShopProblem && save.error.status === 412 ? <ChangedMeanwhile now={newer} /> : undefined;
  return (
    <Modal opened onClose={onClose} title="Edit the webhook" size="lg">
      <WebhookForm draft={draft} action={conflict ? 'Replace it' : 'Save'} isBusy={save.isPending} error={save.error} conflict={conflict} onSubmit={(input) => save.mutate(input)} onCancel={onClose} />
    </Modal>
  );
}
