import { Button, Menu } from '@mantine/core';
import { IconChevronDown, IconDownload } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { useShop } from '../../../auth/session.js';
import { Dialog } from '../../../ui/dialog.js';
import { sayDone } from '../../../ui/done.js';
import { download } from '../../../ui/download.js';
import { counted, formatNumber } from '../../../ui/numbers.js';
import { ProblemAlert } from '../../../ui/problem-alert.js';
import { useChange } from '../../../ui/use-change.js';
import { exportPlants } from './export-plants.js';

/** Exports all plants to a file, regardless of the search. */
export function ExportMenu(): ReactNode {
  const shop = useShop();
  const [plants, setPlants] = useState(0);
  const exporting = useChange({
    isRepeatable: true,
    mutationFn: async (wanted: Parameters<typeof exportPlants>[1]) => {
      setPlants(0);
      let count = 0;
      download(await exportPlants(shop, wanted, (read) => setPlants((count = read))), `plants-${new Date().toISOString().slice(0, 10)}.${wanted.format}`);
      return count;
    },
    onSuccess: (count) => sayDone(`${counted(count, 'plant')} exported.`),
  });
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" disabled={exporting.isPending} leftSection={<IconDownload size={16} />} rightSection={<IconChevronDown size={14} />}>
            {exporting.isPending ? `Exporting … ${formatNumber(plants)}` : 'Export'}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>All plants, without stock</Menu.Label>
          <Menu.Item onClick={() => exporting.mutate({ format: 'csv' })}>CSV with commas</Menu.Item>
          <Menu.Item onClick={() => exporting.mutate({ format: 'csv', separator: ';' })}>CSV with semicolons, for an Excel that writes 2,50</Menu.Item>
          <Menu.Item onClick={() => exporting.mutate({ format: 'ndjson' })}>NDJSON, one plant a line</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Dialog isOpen={exporting.isError} isBusy={false} onClose={() => exporting.reset()} title="Export">
        <ProblemAlert error={exporting.error} title="The export failed" />
      </Dialog>
    </>
  );
}
