import { Alert, Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useShop } from '../../auth/session.js';
import { Card } from '../../ui/card.js';
import { FormDialog } from '../../ui/dialog.js';
import { sayDone } from '../../ui/done.js';
import { trimmed } from '../../ui/numbers.js';
import { faultOf } from '../../ui/problem.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { StatusBadge } from '../../ui/status-badge.js';
import { Time } from '../../ui/time.js';
import { useChange } from '../../ui/use-change.js';
import { useDraft } from '../../ui/use-draft.js';
import type { Refund } from './queries.js';

/** Refunds of the order; renders nothing without any. */
export function OrderRefunds({ orderId, refunds, error }: { readonly orderId: number; readonly refunds: readonly Refund[]; readonly error: unknown }): ReactNode {
  const [open, setOpen] = useState<number>();
  const opened = refunds.find(({ id }) => id === open);
  if (refunds.length === 0 && !error) return null;
  return (
    <Card title="Refund">
      <ProblemAlert error={error} title="The refund could not be loaded" isShown={refunds.length > 0} />
      <Stack gap="sm">
        {refunds.map((refund) => (
          <Group key={refund.id} justify="space-between">
            <div style={{ overflowWrap: 'anywhere' }}>
              <Text size="sm">Payment <Text span inherit ff="monospace">{refund.paymentReference}</Text></Text>
              <Text size="sm" c="dimmed">{refund.status === 'due' ? <>due since <Time at={refund.dueAt} /></> : <>refunded <Time at={refund.completedAt} />, {refund.reference}</>}</Text>
            </div>
            <Group gap="xs">
              <StatusBadge status={refund.status} />
              {refund.status === 'due' && <Button size="xs" onClick={() => setOpen(refund.id)}>Mark as refunded</Button>}
            </Group>
          </Group>
        ))}
      </Stack>
      {opened && <CompletionDialog orderId={orderId} refund={opened} onClose={() => setOpen(undefined)} />}
    </Card>
  );
}

function CompletionDialog({ orderId, refund, onClose }: { readonly orderId: number; readonly refund: Refund; readonly onClose: () => void }): ReactNode {
  const shop = useShop();
  const client = useQueryClient();
  const draft = useDraft(`complete refund ${refund.id}`, { reference: '' });
  const { reference } = draft.value;
  const complete = useChange({
    mutationFn: () => shop.POST('/store/refund/{refundId}/completion', { params: { path: { refundId: refund.id } }, body: { reference: trimmed(reference) } }),
    onSuccess: () => {
      sayDone(`The refund of order ${orderId} is completed.`);
      draft.clear();
      onClose();
    },
    // Refused: somebody else has completed it.
    onSettled: () => Promise.all([client.invalidateQueries({ queryKey: ['order', orderId] }), client.invalidateQueries({ queryKey: ['refunds'] }), client.invalidateQueries({ queryKey: ['orders'] })]),
  });
  return (
    <FormDialog title={`Refund of order ${orderId}`} draft={draft} action="Complete the refund" isBusy={complete.isPending} error={complete.error} isPossible={refund.status === 'due'} onSubmit={() => complete.mutate()} onClose={onClose}>
      {refund.status === 'completed' && (
        <Alert color="yellow" variant="light" role="alert" title="The refund was completed meanwhile">
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>Its reference is {refund.reference}. Check that the money is not returned twice.</Text>
        </Alert>
      )}
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>Pay payment {refund.paymentReference} back at the payment provider first: this only records it.</Text>
      <TextInput label="Reference" description="The payment provider’s id of the transfer." required data-autofocus value={reference} onChange={({ currentTarget: { value } }) => draft.change({ reference: value })} error={faultOf(complete.error, 'reference')} />
    </FormDialog>
  );
}
