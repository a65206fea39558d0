import { Button, Group, Radio, Stack, Text } from '@mantine/core';
import { IconPrinter } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { createPortal } from 'react-dom';
import type { Order } from '../../../shop/day.js';
import { BackButton, Dialog } from '../../../ui/dialog.js';
import { counted } from '../../../ui/numbers.js';
import classes from './papers.module.css';
import { Label, PickList, Slip } from './papers.js';

const papers = {
  slip: { label: 'Packing slips', description: 'A4, a page for each order', size: 'A4', margin: '15mm' },
  label: { label: 'Labels', description: '100 × 150 mm, one for each order', size: '100mm 150mm', margin: '0' },
  pick: { label: 'Pick list', description: 'A4, all units by plant', size: 'A4', margin: '15mm' },
} as const;
type Paper = keyof typeof papers;
const kinds = Object.keys(papers) as Paper[];

/** Of the whole document, only the papers are printed. */
const pageStyle = ({ size, margin }: (typeof papers)[Paper]): string => `@page { size: ${size}; margin: ${margin}; }
@media print {
  html, body { height: auto !important; overflow: visible !important; background: #fff !important; }
  body > :not([data-papers]) { display: none !important; }
}`;

/** Which of the orders get the paper: paid ones that are not cancelled. A pick list is of those that are still to ship; if all are shipped, of all. */
function ordersOn(paper: Paper, all: readonly Order[]): readonly Order[] {
  const paid = all.filter(({ status }) => status === 'approved' || (status === 'delivered' && paper !== 'pick'));
  const toShip = paid.filter(({ carrier }) => carrier === undefined);
  return paper === 'pick' && toShip.length > 0 ? toShip : paid;
}

/** Prints papers for these orders; the orders stay as they are. */
export function PrintDialog({ orders: all, onClose }: { readonly orders: readonly Order[]; readonly onClose: () => void }): ReactNode {
  const [paper, setPaper] = useState<Paper>('slip');
  const orders = ordersOn(paper, all);
  const left = all.length - orders.length;
  const withoutAddress = orders.filter(({ shipTo }) => shipTo === undefined).length;
  return (
    <Dialog isBusy={false} onClose={onClose} title={`Print for ${counted(orders.length, 'order')}`}>
      <Stack>
        <Radio.Group label="Paper" value={paper} onChange={(value) => setPaper(kinds.find((one) => one === value) ?? 'slip')}>
          <Stack gap="xs" mt="xs">{kinds.map((one) => <Radio key={one} value={one} label={papers[one].label} description={papers[one].description} />)}</Stack>
        </Radio.Group>
        {left > 0 && <Text size="sm" role="status">{counted(left, 'selected order is', 'selected orders are')} left out: unpaid{paper === 'pick' ? ', cancelled, shipped or delivered' : ' or cancelled'}.</Text>}
        {withoutAddress > 0 && paper !== 'pick' && <Text size="sm">{counted(withoutAddress, 'order has', 'orders have')} no address. Their papers name the owner.</Text>}
        <Group justify="flex-end">
          <BackButton />
          <Button leftSection={<IconPrinter size={16} />} disabled={orders.length === 0} onClick={() => window.print()} data-autofocus>Print</Button>
        </Group>
      </Stack>
      {createPortal(
        <div data-papers className={classes['papers']}>
          <style>{pageStyle(papers[paper])}</style>
          {paper === 'pick' && <PickList orders={orders} />}
          {paper === 'slip' && orders.map((order) => <Slip key={order.id} order={order} />)}
          {paper === 'label' && orders.map((order) => <Label key={order.id} order={order} />)}
        </div>,
        document.body,
      )}
    </Dialog>
  );
}
