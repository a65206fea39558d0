import { Button, Group, Text } from '@mantine/core';
import { IconCircleCheck, IconPrinter, IconTruckDelivery, IconX } from '@tabler/icons-react';
import { type ReactNode, Suspense, useEffect, useState } from 'react';
import { useCell, useMay, useShop } from '../../../auth/session.js';
import type { Cell } from '../../../shop/cell.js';
import type { Order } from '../../../shop/day.js';
import { lazyFile } from '../../../shop/lazy-file.js';
import { formatNumber } from '../../../ui/numbers.js';
import { ExportButton } from '../export-button.js';
import type { OrderDesk } from '../order-desk.js';
import type { OrderList } from '../order-list.js';
import { nothingSelected, type Selection } from '../selection.js';
import { type BulkKind, BulkRun, isEligible } from './bulk-run.js';

export const PrintDialog = lazyFile(() => import('../print/print-dialog.js'), 'PrintDialog');

/** The most orders that are changed or printed together. */
const most = 1_000;

/** How many orders are selected, and what can be done with all of them. Below the list, and in view: no row moves when there is more of it. */
export function BulkBar({ desk, list, rows, isEnd, total, selection }: {
  readonly desk: OrderDesk;
  readonly list: OrderList;
  readonly rows: readonly Order[];
  readonly isEnd: boolean;
  /** How many orders match; undefined if that is not known exactly. */
  readonly total: number | undefined;
  readonly selection: Cell<Selection>;
}): ReactNode {
  const shop = useShop();
  const mayShip = useMay('write:shipments');
  const mayManage = useMay('manage:orders');
  const { ids } = useCell(selection);
  const [isLoading, setLoading] = useState(false);
  const [isPrinting, setPrinting] = useState(false);
  const orders = rows.filter(({ id }) => ids.has(id));
  const known = isEnd ? rows.length : total;
  // After a reload, what is selected may be on later pages.
  const isUnread = !isEnd && orders.length < ids.size;
  const isMissing = isUnread && rows.length < most;
  const count = isUnread && !isMissing ? ids.size : orders.length;
  useEffect(() => {
    if (isMissing) void list.loadMore();
  }, [isMissing, list, rows.length]);
  const isMore = known === undefined || known > orders.length;
  const selectAll = async (): Promise<void> => {
    setLoading(true);
    const all = await list.loadUpTo(most);
    setLoading(false);
    selection.set({ ...selection.get(), ids: new Set(all.map(({ id }) => id)) });
  };
  const begin = (kind: BulkKind): void => {
    const eligible = orders.filter(isEligible[kind]);
    desk.run.set(new BulkRun(shop, kind, eligible, orders.length - eligible.length));
  };
  const isTooMany = count > most;
  const offers = (kind: BulkKind): boolean => !isTooMany && orders.some(isEligible[kind]);
  return (
    <Group gap="xs" py={6} mih={48} {...(orders.length > 0 && { pos: 'sticky', bottom: 0, bg: 'var(--mantine-color-body)', style: { zIndex: 1 } })} role="group" aria-label="Selected orders">
      <Text size="sm" role="status" className="numbers" {...(orders.length === 0 && { c: 'dimmed' })}>{orders.length === 0 ? 'Select orders to work on several at once: by click, or by arrow keys and Space.' : `${formatNumber(count)} selected${isTooMany ? `: at most ${formatNumber(most)} can be changed or printed at once` : ''}`}</Text>
      {isMore && orders.length < most && (
        <Button size="xs" variant="subtle" loading={isLoading} onClick={() => void selectAll()}>
          {known === undefined || known > most ? `Select the first ${formatNumber(most)} that match` : known === 1 ? 'Select the one that matches' : `Select all ${formatNumber(known)} that match`}
        </Button>
      )}
      {orders.length > 0 && (
        <>
          {mayShip && offers('ship') && <Button size="xs" leftSection={<IconTruckDelivery size={16} />} onClick={() => begin('ship')}>Ship</Button>}
          {mayShip && offers('deliver') && <Button size="xs" leftSection={<IconCircleCheck size={16} />} onClick={() => begin('deliver')}>Report deliveries</Button>}
          {!isTooMany && <Button size="xs" variant="default" leftSection={<IconPrinter size={16} />} onClick={() => setPrinting(true)}>Print</Button>}
          <ExportButton orders={orders} />
          {mayManage && offers('cancel') && <Button size="xs" variant="default" leftSection={<IconX size={16} />} onClick={() => begin('cancel')}>Cancel</Button>}
          <Button size="xs" variant="subtle" onClick={() => selection.set(nothingSelected)}>Select none</Button>
        </>
      )}
      {isPrinting && <Suspense><PrintDialog orders={orders} onClose={() => setPrinting(false)} /></Suspense>}
    </Group>
  );
}
