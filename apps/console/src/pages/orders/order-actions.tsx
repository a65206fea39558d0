import { Alert, Button, Checkbox, Group, SegmentedControl, Text, Textarea, TextInput } from '@mantine/core';
import { IconArrowRight, IconCash, IconCircleCheck, IconPrinter, IconTruckDelivery, IconX } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { type FocusEvent, type ReactNode, Suspense, useState } from 'react';
import { useMay, usePerson, useShop } from '../../auth/session.js';
import { type Order, stateOf } from '../../shop/day.js';
import { ConfirmDialog } from '../../ui/confirm-dialog.js';
import { FormDialog } from '../../ui/dialog.js';
import { sayDone } from '../../ui/done.js';
import { counted, trimmed } from '../../ui/numbers.js';
import { faultOf } from '../../ui/problem.js';
import { useChange } from '../../ui/use-change.js';
import { type Draft, useDraft } from '../../ui/use-draft.js';
import { UserField } from '../../ui/user-field.js';
import { PrintDialog } from './bulk/bulk-bar.js';
import { etagToShip } from './bulk/bulk-run.js';

type Action = 'pay' | 'ship' | 'deliver' | 'print' | 'transfer' | 'cancel';

/** Actions for an order of this status, as far as the user may. The API checks again: the order may have changed. */
export function OrderActions({ order }: { readonly order: Order }): ReactNode {
  // As it was when the dialog opened: what somebody else does to the order meanwhile is said in it, and does not close it.
  const [opened, setOpened] = useState<{ readonly action: Action; readonly seen: Order }>();
  const { username } = usePerson();
  const mayPay = useMay('write:payments');
  const mayShip = useMay('write:shipments');
  const mayManage = useMay('manage:orders');
  const mayCancelOwn = useMay('write:orders') && (order.owner === undefined || order.owner === username);
  const isOpen = order.status === 'placed' || order.status === 'approved';
  const isCancellable = order.status === 'placed' ? mayManage || mayCancelOwn : order.status === 'approved' && order.carrier === undefined && mayManage;
  const { action: open, seen = order } = opened ?? {};
  const setOpen = (action: Action): void => setOpened({ action, seen: order });
  const close = (): void => setOpened(undefined);
  const shared = { order, seen, onClose: close };
  return (
    <Group gap="xs" role="group" aria-label="Actions">
      {mayPay && (order.status === 'placed' || order.status === 'cancelled') && <Button variant={order.status === 'placed' ? 'filled' : 'default'} leftSection={<IconCash size={16} />} onClick={() => setOpen('pay')}>Report a payment</Button>}
      {mayShip && order.status === 'approved' && (
        <>
          <Button variant={order.carrier === undefined ? 'filled' : 'default'} leftSection={<IconTruckDelivery size={16} />} onClick={() => setOpen('ship')}>{order.carrier === undefined ? 'Ship' : 'Correct the shipment'}</Button>
          <Button variant={order.carrier === undefined ? 'default' : 'filled'} leftSection={<IconCircleCheck size={16} />} onClick={() => setOpen('deliver')}>Report the delivery</Button>
        </>
      )}
      {mayShip && order.status === 'approved' && <Button variant="default" leftSection={<IconPrinter size={16} />} onClick={() => setOpen('print')}>Print</Button>}
      {mayManage && isOpen && <Button variant="default" leftSection={<IconArrowRight size={16} />} onClick={() => setOpen('transfer')}>Transfer</Button>}
      {isCancellable && <Button variant="default" leftSection={<IconX size={16} />} onClick={() => setOpen('cancel')}>Cancel the order</Button>}
      {open === 'pay' && <PayDialog {...shared} />}
      {open === 'ship' && <ShipDialog {...shared} />}
      {open === 'deliver' && <DeliverDialog {...shared} />}
      {open === 'print' && <Suspense><PrintDialog orders={[order]} onClose={close} /></Suspense>}
      {open === 'transfer' && <TransferDialog {...shared} />}
      {open === 'cancel' && (seen.status === 'placed' ? <CancelDialog {...shared} /> : <CancelPaidDialog {...shared} />)}
    </Group>
  );
}

interface DialogProps {
  readonly order: Order;
  readonly seen: Order;
  readonly onClose: () => void;
}

/** Says what has become of the order since the dialog opened; renders nothing otherwise. */
function Meanwhile({ order, seen }: Pick<DialogProps, 'order' | 'seen'>): ReactNode {
  const { carrier, trackingNumber, owner = seen.owner } = order;
  const isOthers = seen.owner !== undefined && owner !== seen.owner;
  if (stateOf(order) === stateOf(seen) && carrier === seen.carrier && trackingNumber === seen.trackingNumber && !isOthers) return null;
  return (
    <Alert color="yellow" variant="light" role="alert" title="The order has changed meanwhile">
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>It is {stateOf(order)} now{carrier !== undefined && `, with ${carrier}, ${trackingNumber ?? ''}`}{isOthers && `, of ${owner ?? ''}`}.</Text>
    </Alert>
  );
}

/** Runs an action on an order, and shows the order in the response. */
function useOrderAction(order: Order, done: string, onDone: () => void, act: (shop: ReturnType<typeof useShop>) => Promise<{ readonly data: Order }>) {
  const shop = useShop();
  const client = useQueryClient();
  return useChange({
    mutationFn: async () => (await act(shop)).data,
    onSuccess: async (changed) => {
      // The response may omit the owner.
      client.setQueryData<Order>(['order', order.id], (known) => ({ ...known, ...changed }));
      sayDone(done);
      onDone();
      await client.invalidateQueries({ queryKey: ['order', order.id] });
    },
    // Refused: the order is not in the state that this page shows.
    onError: () => client.invalidateQueries({ queryKey: ['order', order.id] }),
  });
}

const doneWith = (draft: Pick<Draft<object>, 'clear'>, onClose: () => void) => (): void => {
  draft.clear();
  onClose();
};

function PayDialog({ order, seen, onClose }: DialogProps): ReactNode {
  const draft = useDraft<{ outcome: 'succeeded' | 'failed'; reference: string; isAlone: boolean }>(`pay order ${order.id}`, { outcome: 'succeeded', reference: '', isAlone: false });
  const { outcome, reference, isAlone } = draft.value;
  const { id: orderId, basketId } = order;
  const pay = useOrderAction(order, basketId === undefined || isAlone ? `The payment of order ${orderId} is reported.` : `The payment of basket ${basketId} is reported.`, doneWith(draft, onClose), async (shop) => {
    const body = { outcome, reference: trimmed(reference) };
    if (basketId === undefined || isAlone) return shop.POST('/store/order/{orderId}/payment', { params: { path: { orderId } }, body });
    const { data: { orders } } = await shop.POST('/store/basket/{basketId}/payment', { params: { path: { basketId } }, body });
    return { data: orders.find(({ id }) => id === orderId) ?? order };
  });
  return (
    <FormDialog title={`Payment of order ${order.id}`} draft={draft} action="Report it" isBusy={pay.isPending} error={pay.error} onSubmit={() => pay.mutate()} onClose={onClose}>
      <Meanwhile order={order} seen={seen} />
      {order.status === 'cancelled' && <Text size="sm">The order is cancelled, and stays so. {outcome === 'succeeded' ? 'This creates a refund.' : 'This is only recorded.'}</Text>}
      <SegmentedControl aria-label="Outcome" value={outcome} onChange={(value) => draft.change({ outcome: value === 'failed' ? 'failed' : 'succeeded' })} data={[{ value: 'succeeded', label: 'It succeeded' }, { value: 'failed', label: 'It failed' }]} />
      <TextInput label="Reference" description="The payment provider’s id of this payment. A payment that is reported twice counts once." required data-autofocus value={reference} onChange={({ currentTarget: { value } }) => draft.change({ reference: value })} error={faultOf(pay.error, 'reference')} />
      {basketId !== undefined && <Checkbox label={`It is of order ${orderId} alone`} description={`Otherwise of all orders of basket ${basketId}: one reference pays one order or one basket.`} checked={isAlone} onChange={({ currentTarget: { checked } }) => draft.change({ isAlone: checked })} />}
      {outcome === 'failed' && order.status === 'placed' && <Text size="sm">The order keeps its {counted(order.quantity, 'unit')} and can be paid until it expires.</Text>}
    </FormDialog>
  );
}

/** What is typed replaces a former value. */
const selectAll = ({ currentTarget }: FocusEvent<HTMLInputElement>): void => currentTarget.select();

function ShipDialog({ order, seen, onClose }: DialogProps): ReactNode {
  const draft = useDraft(`ship order ${order.id}`, { carrier: order.carrier ?? '', trackingNumber: order.trackingNumber ?? '' });
  const { carrier, trackingNumber } = draft.value;
  const path = { orderId: order.id };
  const ship = useOrderAction(order, `Order ${order.id} is shipped.`, doneWith(draft, onClose), async (shop) => {
    const body = { carrier: trimmed(carrier), trackingNumber: trimmed(trackingNumber) };
    const found = await etagToShip(shop, seen, body);
    if ('shipped' in found) return { data: found.shipped };
    return shop.POST('/store/order/{orderId}/shipment', { params: { path, header: found.etag === undefined ? {} : { 'If-Match': found.etag } }, body });
  });
  return (
    <FormDialog title={`Shipment of order ${order.id}`} draft={draft} action={seen.carrier === undefined ? 'Ship' : 'Correct the shipment'} isBusy={ship.isPending} error={ship.error} isPossible={order.status === 'approved'} onSubmit={() => ship.mutate()} onClose={onClose}>
      <Meanwhile order={order} seen={seen} />
      <TextInput label="Carrier" required data-autofocus value={carrier} onFocus={selectAll} onChange={({ currentTarget: { value } }) => draft.change({ carrier: value })} error={faultOf(ship.error, 'carrier')} />
      <TextInput label="Tracking number" required value={trackingNumber} onFocus={selectAll} onChange={({ currentTarget: { value } }) => draft.change({ trackingNumber: value })} error={faultOf(ship.error, 'trackingNumber')} />
    </FormDialog>
  );
}

function DeliverDialog({ order, seen, onClose }: DialogProps): ReactNode {
  const deliver = useOrderAction(order, `Order ${order.id} is delivered.`, onClose, (shop) => shop.POST('/store/order/{orderId}/delivery', { params: { path: { orderId: order.id } } }));
  return (
    <ConfirmDialog title={`Delivery of order ${order.id}`} action="It was delivered" color="green" isOpen isBusy={deliver.isPending} error={deliver.error} isPossible={order.status === 'approved'} onConfirm={() => deliver.mutate()} onClose={onClose}>
      <Meanwhile order={order} seen={seen} />
      {order.carrier === undefined && <Text size="sm" fw={600} mb="xs">It was not shipped, as far as the shop knows: it has no carrier and no tracking number, and gets none afterwards.</Text>}
      The order closes: it can be neither cancelled nor transferred afterwards.
    </ConfirmDialog>
  );
}

function TransferDialog({ order, seen, onClose }: DialogProps): ReactNode {
  const draft = useDraft(`transfer order ${order.id}`, { username: '' });
  const { username } = draft.value;
  const path = { orderId: order.id };
  const transfer = useOrderAction(order, `Order ${order.id} is transferred to ${trimmed(username)}.`, doneWith(draft, onClose), (shop) => shop.POST('/store/order/{orderId}/transfer', { params: { path }, body: { username: trimmed(username) } }));
  return (
    <FormDialog title={`Transfer order ${order.id}`} draft={draft} action="Transfer" isBusy={transfer.isPending} error={transfer.error} isPossible={order.status === 'placed' || order.status === 'approved'} onSubmit={() => transfer.mutate()} onClose={onClose}>
      <Meanwhile order={order} seen={seen} />
      <Text size="sm">{order.owner ?? 'The former owner'} keeps access to earlier events; later ones go to the new owner.</Text>
      <UserField label="New owner" description="A username." required data-autofocus value={username} onChange={(value) => draft.change({ username: value })} error={faultOf(transfer.error, 'username')} />
    </FormDialog>
  );
}

function CancelDialog({ order, seen, onClose }: DialogProps): ReactNode {
  const cancel = useOrderAction(order, `Order ${order.id} is cancelled.`, onClose, (shop) => shop.DELETE('/store/order/{orderId}', { params: { path: { orderId: order.id } } }));
  return (
    <ConfirmDialog title={`Cancel order ${order.id}?`} action="Cancel the order" isOpen isBusy={cancel.isPending} error={cancel.error} isPossible={order.status === 'placed'} onConfirm={() => cancel.mutate()} onClose={onClose}>
      <Meanwhile order={order} seen={seen} />
      {`Its ${counted(order.quantity, 'unit')} can be ordered again at once. A cancelled order stays visible and cannot be reopened.`}
    </ConfirmDialog>
  );
}

/** Staff can cancel a paid order until it is shipped. */
function CancelPaidDialog({ order, seen, onClose }: DialogProps): ReactNode {
  const draft = useDraft(`cancel order ${order.id}`, { reason: '', restock: true });
  const { reason, restock } = draft.value;
  const path = { orderId: order.id };
  const cancel = useOrderAction(order, `Order ${order.id} is cancelled.`, doneWith(draft, onClose), (shop) => shop.POST('/store/order/{orderId}/cancellation', { params: { path }, body: { reason: trimmed(reason), restock } }));
  return (
    <FormDialog title={`Cancel order ${order.id}?`} draft={draft} action="Cancel the order" color="red" isBusy={cancel.isPending} error={cancel.error} isPossible={stateOf(order) === 'approved'} onSubmit={() => cancel.mutate()} onClose={onClose}>
      <Meanwhile order={order} seen={seen} />
      <Text size="sm">If money was paid for it, a refund becomes due: return the money then. A cancelled order stays visible and cannot be reopened.</Text>
      <Textarea label="Reason" description="The owner sees it, too." required autosize minRows={2} data-autofocus value={reason} onChange={({ currentTarget: { value } }) => draft.change({ reason: value })} error={faultOf(cancel.error, 'reason')} />
      <Checkbox label={`Its ${counted(order.quantity, 'unit')} can be sold again`} description={`If not, ${order.quantity === 1 ? 'it is' : 'they are'} written off.`} checked={restock} onChange={({ currentTarget: { checked } }) => draft.change({ restock: checked })} />
    </FormDialog>
  );
}
