import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useShop } from '../../auth/session.js';
import { Dialog } from '../../ui/dialog.js';
import { sendOnce } from '../../ui/drafts.js';
import { SecretDialog } from '../../ui/secret-dialog.js';
import { useChange } from '../../ui/use-change.js';
import { useDraft } from '../../ui/use-draft.js';
import { valuesOf, WebhookForm, type WebhookInput } from './webhook-form.js';

/** The form, then the secret, then the new webhook's page. */
export function CreateWebhook({ onClose }: { readonly onClose: () => void }): ReactNode {
  const shop = useShop();
  const client = useQueryClient();
  const navigate = useNavigate();
  const [created, setCreated] = useState<{ readonly id: string; readonly secret: string }>();
  const draft = useDraft('new webhook', valuesOf({ url: '', eventTypes: ['order.status_changed'] }));
  const create = useChange({
    gcTime: 0,
    mutationFn: async (input: WebhookInput) => (await sendOnce(draft, input, (body, idempotencyKey) => shop.POST('/webhooks', { body, idempotencyKey }))).data,
    onSuccess: async ({ id, secret }) => {
      draft.clear();
      setCreated({ id, secret });
      await client.invalidateQueries({ queryKey: ['webhooks'] });
    },
  });
  return (
    <>
      <Dialog isOpen={!created} isBusy={create.isPending} onClose={onClose} title="New webhook" size="lg">
        <WebhookForm draft={draft} action="Create the webhook" isBusy={create.isPending} error={create.error} onSubmit={(input) => create.mutate(input)} />
      </Dialog>
      <SecretDialog
        title="The webhook's secret"
        secret={created?.secret}
        onClose={() => {
          onClose();
          void navigate({ to: '/webhooks/$webhookId', params: { webhookId: created?.id ?? '' } });
        }}
      >
        The receiver checks with it that a request comes from this shop and was not changed on its way.
      </SecretDialog>
    </>
  );
}
