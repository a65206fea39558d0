import { Alert, Button, Group, Paper, Progress, SimpleGrid, Stack, Table, Text, Title } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { ShopError } from '@plant-shop/client';
import type { ReactNode } from 'react';
import { useCell } from '../../../auth/session.js';
import { Card } from '../../../ui/card.js';
import { download } from '../../../ui/download.js';
import { counted, formatNumber } from '../../../ui/numbers.js';
import { ProblemAlert } from '../../../ui/problem-alert.js';
import { useStayHere } from '../../../ui/use-stay-here.js';
import { type ImportState, mostShown, type PlantImport } from './plant-import.js';

/** Progress and result of an import, with the refused lines. */
export function ImportProgress({ import: one, onAnother }: { readonly import: PlantImport; readonly onAnother: () => void }): ReactNode {
  const state = useCell(one.state);
  const { phase, fileName, part, created, updated, unchanged, refused } = state;
  const isRunning = phase === 'running';
  useStayHere(isRunning);
  return (
    <Stack maw={960}>
      <Paper withBorder p="md" component="section" aria-label="Progress">
        <Group justify="space-between" wrap="nowrap" align="flex-start" mb="xs">
          <div style={{ minWidth: 0 }}>
            <Title order={2} size="h5" style={{ overflowWrap: 'anywhere' }}>{fileName}</Title>
            <Text size="sm" c="dimmed" role="status">{phaseText(state)}</Text>
          </div>
          {isRunning && <Button variant="default" onClick={() => one.stop()}>Stop</Button>}
          {!isRunning && (
            <Group gap="xs" wrap="nowrap">
              {phase !== 'done' && <Button onClick={() => void one.run()}>Continue</Button>}
              <Button variant={phase === 'done' ? 'filled' : 'default'} onClick={onAnother}>Import another file</Button>
            </Group>
          )}
        </Group>
        <Progress value={part * 100} size="lg" color={phase === 'failed' ? 'red' : 'green'} aria-label="Imported part of the file" />
        <SimpleGrid cols={{ base: 2, sm: 4 }} component="dl" mb={0}>
          {Object.entries({ Created: created, Updated: updated, Unchanged: unchanged, Refused: refused }).map(([label, value]) => (
            <div key={label}>
              <Text component="dt" size="sm" c="dimmed">{label}</Text>
              <Text component="dd" m={0} size="xl" fw={600} className="numbers">{formatNumber(value)}</Text>
            </div>
          ))}
        </SimpleGrid>
      </Paper>
      {phase === 'failed' && (state.error instanceof ShopError
        ? <ProblemAlert error={state.error} title="The import was interrupted" />
        : <Alert color="red" variant="light" role="alert" title="The import was interrupted">{state.error instanceof Error ? state.error.message : String(state.error)}</Alert>)}
      {refused > 0 && <Refused import={one} state={state} />}
    </Stack>
  );
}

function phaseText(state: ImportState): string {
  const { phase, part, lastLine, blank } = state;
  const until = lastLine === 0 ? 'Nothing has been imported yet.' : `Imported up to line ${formatNumber(lastLine)}.`;
  if (phase === 'running') return `${String(Math.floor(part * 100))} %. You can use other pages of the console meanwhile; keep this tab open.`;
  if (phase === 'done') return blank === 0 ? 'Done.' : `Done. Skipped ${counted(blank, 'blank line')}.`;
  return phase === 'stopped' ? `Stopped. ${until}` : until;
}

function Refused({ import: one, state }: { readonly import: PlantImport; readonly state: ImportState }): ReactNode {
  const { refused, refusedLines } = state;
  return (
    <Card
      title={counted(refused, 'refused line')}
      aside={<Button variant="default" leftSection={<IconDownload size={16} />} onClick={() => download(one.report(), `${state.fileName.replace(/\.\w+$/, '')}-refused.csv`)}>Download the report</Button>}
    >
      <Text size="sm" c="dimmed" mb="xs">Correct them in a copy of the file and import it: plants that are imported already do not change.</Text>
      <Table.ScrollContainer minWidth={560} maxHeight={420}>
        <Table stickyHeader aria-label="Refused">
          <Table.Thead>
            <Table.Tr>
              <Table.Th scope="col">Line</Table.Th>
              <Table.Th scope="col">Plant</Table.Th>
              <Table.Th scope="col">Problem</Table.Th>
              <Table.Th scope="col">Content</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {refusedLines.map(({ number, id, why, text }) => (
              <Table.Tr key={number}>
                <Table.Td className="numbers">{formatNumber(number)}</Table.Td>
                <Table.Td className="numbers">{id ?? '–'}</Table.Td>
                <Table.Td style={{ overflowWrap: 'anywhere' }}>{why}</Table.Td>
                <Table.Td style={{ overflowWrap: 'anywhere' }}><Text size="xs" ff="monospace" lineClamp={3}>{text.slice(0, 500)}</Text></Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {refused > mostShown && <Text size="sm" c="dimmed" mt="xs">The first {mostShown}. The report has all.</Text>}
    </Card>
  );
}
