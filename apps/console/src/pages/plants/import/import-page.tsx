import { Alert, Button, Code, List, Stack, Text } from '@mantine/core';
import { IconFileUpload } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useCell, useMay, useShop } from '../../../auth/session.js';
import { AnchorLink } from '../../../ui/anchor-link.js';
import { Card } from '../../../ui/card.js';
import { EmptyState } from '../../../ui/empty-state.js';
import { FileDropZone } from '../../../ui/file-drop-zone.js';
import { counted, formatNumber } from '../../../ui/numbers.js';
import { PageHeader } from '../../../ui/page-header.js';
import { currentImport, forgetLeft, leftImport } from './current-import.js';
import { ImportPreview } from './import-preview.js';
import { ImportProgress } from './import-progress.js';
import { PlantImport } from './plant-import.js';
import { PreviewPage } from './preview-page.js';

export function ImportPage(): ReactNode {
  const shop = useShop();
  const client = useQueryClient();
  const current = useCell(currentImport);
  const mayWrite = useMay('write:plants');
  const end = (): void => {
    if (current instanceof ImportPreview) current.stop();
    forgetLeft();
    currentImport.set(undefined);
  };
  const begin = (preview: ImportPreview): void => {
    const { file, result } = preview.state.get();
    // A second click finds the import that the first one began.
    if (!file || !result || currentImport.get() !== preview) return;
    const begun = new PlantImport(shop, file, preview.reading, result, () => void client.invalidateQueries({ predicate: ({ queryKey: [noun] }) => noun === 'plants' || noun === 'plant' || noun === 'inventory' }));
    currentImport.set(begun);
    void begun.run();
  };
  return (
    <>
      <AnchorLink to="/plants" size="sm">All plants</AnchorLink>
      <PageHeader title="Import plants" text="Adds the plants of a file. A row with the id of an existing plant replaces that plant. A row with only its external id changes the fields that have a value in the row, and keeps the others. The stock of existing plants changes only where the file says it." />
      {current instanceof ImportPreview && <PreviewPage preview={current} onImport={() => begin(current)} onAnother={end} />}
      {current instanceof PlantImport && <ImportProgress import={current} onAnother={end} />}
      {!current && (mayWrite ? <ChooseFile /> : <EmptyState icon={IconFileUpload} title="Only staff import plants" text="Your role does not allow changing plants. Ask an administrator." />)}
    </>
  );
}

function ChooseFile(): ReactNode {
  const shop = useShop();
  const open = ([file]: readonly File[]): void => {
    if (!file) return;
    const preview = new ImportPreview(shop, file);
    currentImport.set(preview);
    void preview.open();
  };
  return (
    <Stack maw={760}>
      <LeftImport />
      <FileDropZone accept=".xlsx,.csv,.tsv,.ndjson,.jsonl,.txt,text/csv,application/x-ndjson" onFiles={open}>
        {(openDialog) => (
          <>
            <IconFileUpload size={32} aria-hidden />
            <Text>Drop a file here, or</Text>
            <Button onClick={openDialog}>Choose a file</Button>
            <Text size="sm" c="dimmed">Excel, CSV or NDJSON. You see what would change before anything does.</Text>
          </>
        )}
      </FileDropZone>
      <Card title="File format">
        <List size="sm" spacing={4}>
          <List.Item><b>Excel (.xlsx) and CSV</b>: the first row names the columns. Only a name is needed. A row with neither id nor external id becomes a new plant.</List.Item>
          <List.Item><b>NDJSON</b> has one plant a line: <Code>{'{"id":7,"name":"Fern","tags":[{"name":"shade"}],"quantity":12}'}</Code></List.Item>
          <List.Item>An export of plants can be imported as it is.</List.Item>
        </List>
      </Card>
    </Stack>
  );
}

/** An import that ended because the page was reloaded, or whose result was not closed. */
function LeftImport(): ReactNode {
  const [left, setLeft] = useState(leftImport);
  if (!left) return null;
  const { phase, fileName, lastLine, created, updated, unchanged, refused } = left;
  const forget = (): void => {
    forgetLeft();
    setLeft(null);
  };
  return (
    <Alert color={phase === 'done' ? 'green' : 'orange'} variant="light" title={<span style={{ overflowWrap: 'anywhere' }}>{phase === 'done' ? `${fileName} was imported` : `The import of ${fileName} is not complete`}</span>}>
      <Text size="sm">{phase === 'done' ? '' : lastLine === 0 ? 'No answer had come when the page was closed. ' : `When the page was closed, it was imported up to line ${formatNumber(lastLine)}. `}{counted(created, 'plant')} created, {formatNumber(updated)} updated, {formatNumber(unchanged)} unchanged, {formatNumber(refused)} refused.</Text>
      {(phase !== 'done' || refused > 0) && <Text size="sm">Choose the file again{phase === 'done' ? ' to see what was refused' : ' for the rest'}: within 24 hours, rows that stay the same add nothing again.</Text>}
      <Button mt="xs" size="compact-sm" variant="default" onClick={forget}>Close</Button>
    </Alert>
  );
}
