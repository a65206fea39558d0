import { Button, Code, List, Stack, Text } from '@mantine/core';
import { IconFileUpload } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useCell, useShop } from '../../../auth/session.js';
import { AnchorLink } from '../../../ui/anchor-link.js';
import { Card } from '../../../ui/card.js';
import { FileDropZone } from '../../../ui/file-drop-zone.js';
import { PageHeader } from '../../../ui/page-header.js';
import { currentImport } from './current-import.js';
import { ImportProgress } from './import-progress.js';
import { PlantImport } from './plant-import.js';

export function ImportPage(): ReactNode {
  const running = useCell(currentImport);
  return (
    <>
      <AnchorLink to="/plants" size="sm">All plants</AnchorLink>
      <PageHeader title="Import plants" text="Creates the plants of a file, and replaces existing ones with the same ids. The stock of existing plants changes only where the file has a quantity." />
      {running ? <ImportProgress import={running} onAnother={() => currentImport.set(undefined)} /> : <ChooseFile />}
    </>
  );
}

function ChooseFile(): ReactNode {
  const shop = useShop();
  const client = useQueryClient();
  const begin = ([file]: readonly File[]): void => {
    if (!file) return;
    const begun = new PlantImport(shop, file, () => void client.invalidateQueries({ predicate: ({ queryKey: [noun] }) => noun === 'plants' || noun === 'plant' || noun === 'inventory' }));
    currentImport.set(begun);
    void begun.run();
  };
  return (
    <Stack maw={760}>
      <FileDropZone accept=".csv,.ndjson,.jsonl,.txt,text/csv,application/x-ndjson" onFiles={begin}>
        {(openDialog) => (
          <>
            <IconFileUpload size={32} aria-hidden />
            <Text>Drop a file here, or</Text>
            <Button onClick={openDialog}>Choose a file</Button>
            <Text size="sm" c="dimmed">CSV or NDJSON. The import starts at once; you can stop it.</Text>
          </>
        )}
      </FileDropZone>
      <Card title="File format">
        <List size="sm" spacing={4}>
          <List.Item><b>CSV</b> has a row of names first: <Code>name</Code>, and if you like <Code>id</Code>, <Code>status</Code>, <Code>category</Code>, <Code>tags</Code>, <Code>photoUrls</Code>, <Code>externalId</Code> and <Code>quantity</Code>. Several tags are separated by <Code>|</Code>. Commas, semicolons or tabs separate the columns. A row without an id becomes a new plant; imported again after a change of the file, it becomes another one.</List.Item>
          <List.Item><b>NDJSON</b> has one plant a line: <Code>{'{"id":7,"name":"Fern","tags":[{"name":"shade"}],"quantity":12}'}</Code></List.Item>
          <List.Item>An export of plants can be imported as it is. Text is UTF-8 (“CSV UTF-8” in Excel).</List.Item>
        </List>
      </Card>
    </Stack>
  );
}
