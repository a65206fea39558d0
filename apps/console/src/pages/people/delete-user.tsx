import { Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useShop } from '../../auth/session.js';
import { evenIfGone } from '../../shop/gone.js';
import { ConfirmDialog } from '../../ui/confirm-dialog.js';
import { sayDone } from '../../ui/done.js';
import { useChange } from '../../ui/use-change.js';
import { leftPeople } from './people-search.js';

export function DeleteUser({ username, onClose }: { readonly username: string; readonly onClose: () => void }): ReactNode {
  const shop = useShop();
  const client = useQueryClient();
  const navigate = useNavigate();
  const remove = useChange({
    mutationFn: () => evenIfGone(shop.DELETE('/user/{username}', { params: { path: { username } } })),
    onSuccess: async () => {
      sayDone(`${username} is deleted.`);
      await navigate({ to: '/people', search: leftPeople.get(), replace: true });
      client.removeQueries({ queryKey: ['user', username] });
      await client.invalidateQueries({ queryKey: ['users'] });
    },
  });
  return (
    <ConfirmDialog title={`Delete ${username}?`} action="Delete the user" isOpen isBusy={remove.isPending} error={remove.error} onConfirm={() => remove.mutate()} onClose={onClose}>
      <Text size="sm">The profile, all sessions and all API keys are deleted permanently. This is refused while {username} has open orders.</Text>
    </ConfirmDialog>
  );
}
