import { Alert, Button, List, Text } from '@mantine/core';
import { ShopProblem } from '@plant-shop/client';
import { IconAlertTriangle, IconTrash } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useShop } from '../../auth/session.js';
import { AnchorLink } from '../../ui/anchor-link.js';
import { ConfirmDialog } from '../../ui/confirm-dialog.js';
import { sayDone } from '../../ui/done.js';
import { counted, isolated } from '../../ui/numbers.js';
import { useChange } from '../../ui/use-change.js';
import { forgetAdded } from './import/current-import.js';
import { leftPlants, type Plant } from './plant-filter.js';
import type { Versioned } from './plants-queries.js';

/** Open orders listed at most. */
const mostNamed = 20;

export function DeletePlant({ plant: { value: { id, name }, etag } }: { readonly plant: Versioned<Plant> }): ReactNode {
  const shop = useShop();
  const client = useQueryClient();
  const navigate = useNavigate();
  const [isAsking, setIsAsking] = useState(false);
  const deleting = useChange({
    mutationFn: () => shop.DELETE('/plant/{plantId}', { params: { path: { plantId: id }, header: { 'If-Match': etag } } }),
    onSuccess: async () => {
      forgetAdded(id);
      sayDone(`${isolated(name)} was deleted.`);
      await navigate({ to: '/plants', search: leftPlants.get(), replace: true });
      client.removeQueries({ queryKey: ['plant', id] });
      void client.invalidateQueries({ queryKey: ['plants'] });
    },
    // The plant may have changed: show its current version.
    onError: () => client.invalidateQueries({ queryKey: ['plant', id] }),
  });
  const orders = deleting.error instanceof ShopProblem && deleting.error.is('plant-has-pending-orders') ? deleting.error.members.orders : [];
  return (
    <>
      <Button variant="default" leftSection={<IconTrash size={16} />} onClick={() => setIsAsking(true)}>Delete</Button>
      <ConfirmDialog
        title={`Delete plant ${String(id)}?`}
        action="Delete the plant"
        isOpen={isAsking}
        isBusy={deleting.isPending}
        error={orders.length > 0 ? undefined : deleting.error}
        onConfirm={() => deleting.mutate()}
        onClose={() => {
          setIsAsking(false);
          deleting.reset();
        }}
      >
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}><b>{name}</b>, its images and its stock are deleted. It can no longer be ordered. Past orders remain.</Text>
        {orders.length > 0 && (
          <Alert color="red" variant="light" role="alert" mt="sm" icon={<IconAlertTriangle />} title="The plant was not deleted">
            <Text size="sm">{orders.length === 1 ? 'An order of it is' : `${counted(orders.length, 'order')} of it are`} open. Deliver or cancel {orders.length === 1 ? 'it' : 'them'} first:</Text>
            <List size="sm" aria-label="Open orders of the plant">
              {orders.slice(0, mostNamed).map((orderId) => (
                <List.Item key={orderId}><AnchorLink to="/orders/$orderId" params={{ orderId: String(orderId) }} inherit>Order {orderId}</AnchorLink></List.Item>
              ))}
            </List>
            {orders.length > mostNamed && <Text size="sm">and {counted(orders.length - mostNamed, 'other')}</Text>}
          </Alert>
        )}
      </ConfirmDialog>
    </>
  );
}
