import { Button } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { useShop } from '../../auth/session.js';
import type { Order } from '../../shop/day.js';
import { Dialog } from '../../ui/dialog.js';
import { sayDone } from '../../ui/done.js';
import { download } from '../../ui/download.js';
import { counted, formatNumber } from '../../ui/numbers.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { useChange } from '../../ui/use-change.js';
import { exportOrders } from './export-orders.js';
import { type TabFilter, toQuery } from './order-query.js';

const pageSize = 1_000;

/** Saves these orders as a file, or without any all that the tab's filter matches. */
export function ExportButton({ filter, seesAll = false, orders }: { readonly filter?: TabFilter; readonly seesAll?: boolean; readonly orders?: readonly Order[] }): ReactNode {
  const shop = useShop();
  const [read, setRead] = useState(0);
  const exporting = useChange({
    isRepeatable: true,
    mutationFn: async () => {
      setRead(0);
      const { file, count } = await exportOrders(orders ?? shop.list('/store/order', { ...toQuery(filter ?? { tab: 'all' }, seesAll), limit: pageSize }), setRead);
      download(file, `orders-${filter?.tab ?? 'selected'}-${new Date().toISOString().slice(0, 10)}.csv`);
      return count;
    },
    onSuccess: (count) => sayDone(`${counted(count, 'order')} exported.`),
  });
  return (
    <>
      <Button variant="default" size={orders ? 'xs' : 'sm'} disabled={exporting.isPending} leftSection={<IconDownload size={16} />} title="CSV in UTF-8 with commas, for spreadsheets" onClick={() => exporting.mutate()}>
        {exporting.isPending ? `Exporting … ${formatNumber(read)}` : orders ? 'Export' : 'Export the list'}
      </Button>
      <Dialog isOpen={exporting.isError} isBusy={false} onClose={() => exporting.reset()} title="Export">
        <ProblemAlert error={exporting.error} title="The export failed" />
      </Dialog>
    </>
  );
}
