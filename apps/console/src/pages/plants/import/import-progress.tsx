import { Alert, Button, Group, Paper, Progress, Stack, Table, Text, Title } from '@mantine/core';
import { ShopError } from '@plant-shop/client';
import type { ReactNode } from 'react';
import { useCell } from '../../../auth/session.js';
import { AnchorLink } from '../../../ui/anchor-link.js';
import { Card } from '../../../ui/card.js';
import { counted, formatNumber } from '../../../ui/numbers.js';
import { ProblemAlert } from '../../../ui/problem-alert.js';
import type { ImportedPlant, ImportState, PlantImport } from './plant-import.js';
import { AddedBefore, Numbers, PlantLines, RefusedLines } from './result.js';

/** Progress and result of an import, with the refused lines. */
export function ImportProgress({ import: one, onAnother }: { readonly import: PlantImport; readonly onAnother: () => void }): ReactNode {
  const state = useCell(one.state);
  const { phase, fileName, part, created, updated, unchanged, refused, added, unclear } = state;
  const isRunning = phase === 'running';
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
        <Numbers numbers={{ Created: created, Updated: updated, Unchanged: unchanged, Refused: refused }} />
        <AddedBefore count={added} />
        {unclear > 0 && <Text size="sm" mt="xs">{counted(unclear, 'line was', 'lines were')} sent twice, because no answer came: of the unchanged plants, this import may have made or changed {unclear === 1 ? 'one' : 'as many'}.</Text>}
      </Paper>
      {phase === 'failed' && (state.error instanceof ShopError
        ? <ProblemAlert error={state.error} title="The import was interrupted" />
        : <Alert color="red" variant="light" role="alert" title="The import was interrupted">{state.error instanceof Error ? state.error.message : String(state.error)}</Alert>)}
      {refused > 0 && <RefusedLines count={refused} lines={state.refusedLines} fileName={fileName} report={() => one.report()} advice="Correct them in a copy of the file and import it within 24 hours: rows that stay the same add nothing again." />}
      {state.plants.length > 0 && <Plants plants={state.plants} count={created + updated} />}
    </Stack>
  );
}

function phaseText(state: ImportState): string {
  const { phase, part, lastLine, blank, isStalled } = state;
  const until = lastLine === 0 ? 'Nothing has been imported yet.' : `Imported up to line ${formatNumber(lastLine)}.`;
  if (phase === 'running' && isStalled) return `${String(Math.floor(part * 100))} %. The shop takes no lines at the moment. The same ones are sent again until it does.`;
  if (phase === 'running') return `${String(Math.floor(part * 100))} %. You can use other pages of the console meanwhile; keep this tab open.`;
  if (phase === 'done') return blank === 0 ? 'Done.' : `Done. Skipped ${counted(blank, 'blank line')}.`;
  return phase === 'stopped' ? `Stopped. ${until}` : until;
}

/** The first plants that the import has made or changed. */
const Plants = ({ plants, count }: { readonly plants: readonly ImportedPlant[]; readonly count: number }): ReactNode => (
  <Card title={count > plants.length ? `The first ${formatNumber(plants.length)} of ${counted(count, 'plant')}` : counted(count, 'plant')}>
    <Table.ScrollContainer minWidth={320} maxHeight={420}>
      <PlantLines name="Imported plants" lines={plants} renderPlant={({ id, name }) => <AnchorLink to="/plants/$plantId" params={{ plantId: String(id) }} size="sm">{name}</AnchorLink>} />
    </Table.ScrollContainer>
  </Card>
);
