import { Button } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { useShop } from '../../auth/session.js';
import { Dialog } from '../../ui/dialog.js';
import { sayDone } from '../../ui/done.js';
import { download } from '../../ui/download.js';
import { counted, formatNumber } from '../../ui/numbers.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { useChange } from '../../ui/use-change.js';
import { headerOf, rowOf } from '../../../../../tools/plants/csv.mjs';
import { actorText, credentialText, targetOf, wordsOf } from './audited.js';
import { type AuditEntry, type AuditFilter, auditQuery, useApplicationNames } from './people-reads.js';

const pageSize = 1_000;
const columns = ['When (UTC)', 'Who', 'What', 'To', 'Before → after', 'With', 'Request'];

const rowFor = (entry: AuditEntry, applications: ReadonlyMap<string, string>): string => {
  const { text, change = '' } = targetOf(entry, applications);
  const credentials = entry.credentials.map((one) => credentialText(one, applications)).join(', ');
  return rowOf([entry.at.slice(0, 19).replace('T', ' '), actorText(entry), wordsOf(entry.operation), text, change, credentials, entry.requestId]);
};

/** Saves all entries that the filter matches as a file. */
export function AuditExport({ filter }: { readonly filter: AuditFilter }): ReactNode {
  const shop = useShop();
  const applications = useApplicationNames();
  const [read, setRead] = useState(0);
  const exporting = useChange({
    isRepeatable: true,
    mutationFn: async () => {
      setRead(0);
      const rows = [headerOf(columns)];
      for await (const entry of shop.list('/audit', { ...auditQuery(filter), limit: pageSize })) {
        rows.push(rowFor(entry, applications));
        if (rows.length % pageSize === 0) setRead(rows.length);
      }
      download(new Blob(rows, { type: 'text/csv' }), `audit-log-${new Date().toISOString().slice(0, 10)}.csv`);
      return rows.length - 1;
    },
    onSuccess: (count) => sayDone(`${counted(count, 'entry', 'entries')} exported.`),
  });
  return (
    <>
      <Button variant="default" disabled={exporting.isPending} leftSection={<IconDownload size={16} />} title="CSV in UTF-8 with commas, for spreadsheets" onClick={() => exporting.mutate()}>
        {exporting.isPending ? `Exporting … ${formatNumber(read)}` : 'Export'}
      </Button>
      <Dialog isOpen={exporting.isError} isBusy={false} onClose={() => exporting.reset()} title="Export">
        <ProblemAlert error={exporting.error} title="The export failed" />
      </Dialog>
    </>
  );
}
