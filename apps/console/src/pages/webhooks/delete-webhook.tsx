import { Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useShop } from '../../auth/session.js';
import { evenIfGone } from '../../shop/gone.js';
import { ConfirmDialog } from '../../ui/confirm-dialog.js';
import { sayDone } from '../../ui/done.js';
import { isolated } from '../../ui/numbers.js';
import { useChange } from '../../ui/use-change.js';
import type { Webhook } from './webhook-reads.js';
import { leftWebhooks } from './webhooks-search.js';

export function DeleteWebhook({ webhook, onClose }: { readonly webhook: Webhook; readonly onClose: () => void }): ReactNode {
  const { id: webhookId, name, url } = webhook;
  const shop = useShop();
  const client = useQueryClient();
  const navigate = useNavigate();
  const remove = useChange({
    mutationFn: () => evenIfGone(shop.DELETE('/webhooks/{webhookId}', { params: { path: { webhookId } } })),
    onSuccess: async () => {
      sayDone('The webhook is deleted.');
      await navigate({ to: '/webhooks', search: leftWebhooks.get(), replace: true });
      client.removeQueries({ queryKey: ['webhook', webhookId] });
      await client.invalidateQueries({ queryKey: ['webhooks'] });
    },
  });
  return (
    <ConfirmDialog title="Delete the webhook?" action="Delete the webhook" isOpen isBusy={remove.isPending} error={remove.error} onConfirm={() => remove.mutate()} onClose={onClose}>
      <Text size="sm">The shop stops sending events to <b style={{ overflowWrap: 'anywhere' }}>{name === undefined ? url : `${isolated(name)} (${url})`}</b>. Pending events are never sent, and the record of past deliveries is deleted.</Text>
    </ConfirmDialog>
  );
}
