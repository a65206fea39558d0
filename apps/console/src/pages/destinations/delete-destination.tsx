import { Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useShop } from '../../auth/session.js';
import { evenIfGone } from '../../shop/gone.js';
import { ConfirmDialog } from '../../ui/confirm-dialog.js';
import { sayDone } from '../../ui/done.js';
import { useChange } from '../../ui/use-change.js';
import type { Destination } from './destination-reads.js';

export function DeleteDestination({ destination: { id: destinationId, name, stream }, onClose }: { readonly destination: Destination; readonly onClose: () => void }): ReactNode {
  const shop = useShop();
  const client = useQueryClient();
  const navigate = useNavigate();
  const remove = useChange({
    mutationFn: () => evenIfGone(shop.DELETE('/destinations/{destinationId}', { params: { path: { destinationId } } })),
    onSuccess: async () => {
      sayDone('The destination is deleted.');
      await navigate({ to: '/destinations', replace: true });
      client.removeQueries({ queryKey: ['destination', destinationId] });
      await client.invalidateQueries({ queryKey: ['destinations'] });
    },
  });
  return (
    <ConfirmDialog title="Delete the destination?" action="Delete the destination" isOpen isBusy={remove.isPending} error={remove.error} onConfirm={() => remove.mutate()} onClose={onClose}>
      <Text size="sm">The shop publishes nothing more to <b style={{ overflowWrap: 'anywhere' }}>{name}</b>, and forgets its credentials and how far it was. What the stream <b style={{ overflowWrap: 'anywhere' }}>{stream}</b> has stays there.</Text>
    </ConfirmDialog>
  );
}
