import { ShopProblem } from '@plant-shop/client';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { useShop } from '../../auth/session.js';
import { sayDone } from '../../ui/done.js';
import { type Change, useChange } from '../../ui/use-change.js';
import type { Webhook } from './webhook-reads.js';

/** Enables or disables an endpoint, unless it has changed since it was shown. */
export function useSetState(webhook: Webhook, etag: string | undefined): Change<Webhook, Webhook['state']> {
  const shop = useShop();
  const client = useQueryClient();
  const { id: webhookId } = webhook;
  return useChange({
    isRepeatable: true,
    mutationFn: async (state: Webhook['state']) => {
      const { url, name, eventTypes, orderId, plantId, newStatuses, description } = webhook;
      const filters = { ...(orderId !== undefined && { orderId }), ...(plantId !== undefined && { plantId }), ...(newStatuses !== undefined && { newStatuses }) };
      const body = { url, eventTypes, state, ...filters, ...(name !== undefined && { name }), ...(description !== undefined && { description }) };
      return (await shop.PUT('/webhooks/{webhookId}', { params: { path: { webhookId }, header: etag === undefined ? {} : { 'If-Match': etag } }, body })).data;
    },
    onSuccess: ({ state }) => sayDone(state === 'enabled' ? 'The webhook is enabled. Held events are being sent.' : 'The webhook is disabled. Its events are held for 30 days.'),
    onSettled: () => client.invalidateQueries({ queryKey: ['webhook', webhookId] }),
  });
}

/** Forgets why the shop refused to send something once the webhook is another: enabled, or at another address. */
export function useForgotten({ reset, error }: Pick<Change<unknown, void>, 'reset' | 'error'>, { state, url }: Webhook): void {
  const last = useRef({ reset, error });
  last.current = { reset, error };
  useEffect(() => {
    if (last.current.error instanceof ShopProblem) last.current.reset();
  }, [state, url]);
}
