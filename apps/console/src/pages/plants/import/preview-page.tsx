import { Alert, Button, Group, List, Paper, Progress, Select, Stack, Table, Text, Title } from '@mantine/core';
import { ShopError } from '@plant-shop/client';
import { type ReactNode, useEffect, useRef } from 'react';
import { useCell } from '../../../auth/session.js';
import { AnchorLink } from '../../../ui/anchor-link.js';
import { Card } from '../../../ui/card.js';
import { counted, formatNumber } from '../../../ui/numbers.js';
import { ProblemAlert } from '../../../ui/problem-alert.js';
import { type Column, COLUMNS } from '../../../../../../tools/plants/csv.mjs';
import type { DryLine, DryRun, SameName } from './dry-run.js';
import type { ImportPreview, PreviewState } from './import-preview.js';
import { labels, textOf } from './report.js';
import { AddedBefore, Numbers, PlantLines, RefusedLines } from './result.js';

const leftOut = '-';

const encodings = [
  { value: 'utf-8', label: 'UTF-8' },
  { value: 'windows-1252', label: 'Western European (Windows-1252)' },
  { value: 'windows-1250', label: 'Central European (Windows-1250)' },
  { value: 'windows-1251', label: 'Cyrillic (Windows-1251)' },
];
/** Names and lines listed at most. */
const mostNames = 10;
const tagSeparators = [{ value: '|', label: '|' }, { value: ',', label: 'Comma' }, { value: ';', label: 'Semicolon' }];
const separators = [{ value: ',', label: 'Comma' }, { value: ';', label: 'Semicolon' }, { value: '\t', label: 'Tab' }];

/** Shows what importing a file would do, before it is done. */
export function PreviewPage({ preview, onImport, onAnother }: { readonly preview: ImportPreview; readonly onImport: () => void; readonly onAnother: () => void }): ReactNode {
  const state = useCell(preview.state);
  const { file, columns, part, result, error } = state;
  const title = useRef<HTMLHeadingElement>(null);
  // The button that had the focus is gone.
  useEffect(() => title.current?.focus(), []);
  const hasName = file?.format === 'ndjson' || columns.some(({ holds }) => holds === 'name');
  const plants = result ? result.counts.created + result.counts.updated + result.counts.unchanged : 0;
  const changes = result ? result.counts.created + result.counts.updated + result.stocks : 0;
  return (
    <Stack maw={960}>
      <Paper withBorder p="md" component="section" aria-label="File">
        <Group justify="space-between" align="flex-start" mb="xs">
          <div style={{ minWidth: 0 }}>
            <Title order={2} size="h5" ref={title} tabIndex={-1} style={{ overflowWrap: 'anywhere', outline: 'none' }}>{preview.source.name}</Title>
            <Text size="sm" c="dimmed" role="status">{statusText(state, hasName)}</Text>
          </div>
          <Group gap="xs">
            {result && <Button disabled={changes === 0} onClick={onImport}>{changes === 0 ? 'Nothing to import' : `Import ${counted(plants, 'plant')}`}</Button>}
            <Button variant="default" onClick={onAnother}>Import another file</Button>
          </Group>
        </Group>
        {!result && hasName && error === undefined && <Progress value={part * 100} size="lg" aria-label="Checked part of the file" />}
        {result && <Counts result={result} />}
      </Paper>
      {error !== undefined && (error instanceof ShopError
        ? <><ProblemAlert error={error} title="The file could not be compared with the shop’s plants" /><div><Button variant="default" onClick={() => void preview.open()}>Try again</Button></div></>
        : <Alert color="red" variant="light" role="alert" title="This file cannot be imported">{error instanceof Error ? error.message : 'It could not be read.'}</Alert>)}
      {/* Above what each choice reads anew: nobody's list of choices moves away. */}
      {file?.format === 'csv' && columns.length > 0 && <Columns preview={preview} state={state} />}
      {result && result.sameNames.length > 0 && <SameNames names={result.sameNames} />}
      {result && result.refused.length > 0 && <RefusedLines count={result.counts.refused} lines={result.refused} fileName={preview.source.name} report={() => result.report} advice="Correct them in the file and choose it again, or import the others." />}
      {result && <FirstLines result={result} />}
    </Stack>
  );
}

function statusText({ file, result, error }: PreviewState, hasName: boolean): string {
  if (error !== undefined) return 'Nothing was imported.';
  if (file && !hasName) return 'Choose below which column holds the names of the plants.';
  if (!result) return 'Checking the file. Nothing is imported yet.';
  const { counts: { refused }, blank } = result;
  return ['Nothing is imported yet.', ...(refused > 0 ? [`${counted(refused, 'line')} would be left out.`] : []), ...(blank > 0 ? [`${counted(blank, 'blank line')} will be skipped.`] : [])].join(' ');
}

const Counts = ({ result: { counts, stocks, defaultStocks, added } }: { readonly result: DryRun }): ReactNode => (
  <>
    <Numbers numbers={{ New: counts.created, Changed: counts.updated, Unchanged: counts.unchanged, Refused: counts.refused }} />
    {stocks > 0 && <Text size="sm" mt="xs">The file sets the free units of {counted(stocks, 'existing plant')}.</Text>}
    {defaultStocks > 0 && <Text size="sm" mt="xs">The file gives no stock for {counted(defaultStocks, 'new plant')}: the shop’s default applies.</Text>}
    <AddedBefore count={added} />
  </>
);

/** How the file is read: to be corrected by hand. */
function Columns({ preview, state: { file, columns, encoding, separator, tagSeparator } }: { readonly preview: ImportPreview; readonly state: PreviewState }): ReactNode {
  return (
    <Card title="How the file is read">
      {file && !file.isWorkbook && (
        <Group mb="md" align="flex-end">
          {file.mark === undefined
            ? <Select label="Text encoding" description="If names look wrong, choose another." w={320} maw="100%" allowDeselect={false} data={encodings} value={encoding} onChange={(chosen) => chosen !== null && void preview.open({ encoding: chosen, separator })} />
            : <Text size="sm">The text is {file.mark}.</Text>}
          <Select label="Separator" w={160} allowDeselect={false} data={separators.some(({ value }) => value === separator) ? separators : [...separators, { value: separator, label: separator }]} value={separator} onChange={(chosen) => chosen !== null && void preview.open({ ...(file.mark === undefined && { encoding }), separator: chosen })} />
        </Group>
      )}
      {file?.sheet !== undefined && file.sheet.others.length > 0 && <Alert color="yellow" variant="light" mb="md" title={`Only the sheet “${file.sheet.name}” is read`}>Not read: {file.sheet.others.map((name) => `“${name}”`).join(', ')}. To import another one, make it the first.</Alert>}
      {columns.some(({ holds }) => holds === 'tags') && <Select label="Several tags are separated by" mb="md" w={230} allowDeselect={false} data={tagSeparators} value={tagSeparator} onChange={(chosen) => chosen !== null && void preview.separateTagsBy(chosen)} />}
      <Table layout="fixed" aria-label="Columns">
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">In the file</Table.Th>
            <Table.Th scope="col">Holds</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {columns.map(({ name, examples, holds }, n) => (
            <Table.Tr key={`${n} ${name}`}>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>
                <Text size="sm" fw={500}>{name === '' ? `Column ${String(n + 1)}` : name}</Text>
                <Text size="xs" c="dimmed" lineClamp={2}>{examples.map((one) => one.slice(0, 60)).join(' · ')}</Text>
              </Table.Td>
              <Table.Td>
                <Select
                  aria-label={`What ${name === '' ? `column ${String(n + 1)}` : name} holds`}
                  allowDeselect={false}
                  data={[{ value: leftOut, label: 'Left out' }, ...COLUMNS.map((value) => ({ value, label: labels[value] }))]}
                  value={holds ?? leftOut}
                  onChange={(chosen) => void preview.hold(n, COLUMNS.find((column) => column === chosen) ?? null)}
                />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Card>
  );
}

/** A list that was imported before, or that names a plant twice, would add plants that nobody can tell apart. */
const SameNames = ({ names }: { readonly names: readonly SameName[] }): ReactNode => (
  <Alert color="orange" variant="light" title={`${counted(names.length, 'name')} would be there more than once`}>
    <Text size="sm" mb={4}>These rows add plants of their own. To change existing plants, give the rows an id or an external id.{names.some(({ plantId }) => plantId !== undefined) && ' The shop remembers for 24 hours which rows you have added. It does not add a row again that says the same.'}</Text>
    <List size="sm">
      {names.slice(0, mostNames).map(({ name, lines, plantId }) => (
        <List.Item key={name} style={{ overflowWrap: 'anywhere' }}>
          <b>{name}</b>: {lines.length === 1 ? 'line' : 'lines'} {lines.slice(0, mostNames).map(formatNumber).join(', ')}{lines.length > mostNames && ' …'}
          {plantId !== undefined && <>; <AnchorLink to="/plants/$plantId" params={{ plantId: String(plantId) }} size="sm">plant {String(plantId)}</AnchorLink> has it already</>}
        </List.Item>
      ))}
    </List>
    {names.length > mostNames && <Text size="sm" mt={4}>And {counted(names.length - mostNames, 'other')}.</Text>}
  </Alert>
);

function FirstLines({ result: { lines, counts } }: { readonly result: DryRun }): ReactNode {
  const all = Object.values(counts).reduce((sum, one) => sum + one, 0);
  return (
    <Card title={all > lines.length ? `The first ${String(lines.length)} of ${counted(all, 'plant')}` : 'The plants as they will be'}>
      <PlantLines name="First plants" lines={lines} renderPlant={(line) => <PlantOfLine line={line} />} />
    </Card>
  );
}

function PlantOfLine({ line: { given, before, after, changed, faults, outcome, addedAs } }: { readonly line: DryLine }): ReactNode {
  const plant = after ?? given;
  const shown = COLUMNS.filter((column) => column !== 'name' && (given[column] !== undefined || changed.includes(column)));
  const was = (column: Column): ReactNode => before && changed.includes(column) && <Text span inherit c="dimmed"> (was {textOf(before, column) || 'empty'})</Text>;
  return (
    <>
      <Text size="sm" fw={500} style={{ whiteSpace: 'pre-wrap' }}>{textOf(plant, 'name')}{was('name')}</Text>
      {shown.map((column) => (
        <Text key={column} size="xs"><Text span inherit c="dimmed">{labels[column]}</Text> {textOf(plant, column) || 'empty'}{was(column)}{column === 'quantity' && before?.quantity !== undefined && <Text span inherit c="dimmed"> (is {textOf(before, column)})</Text>}</Text>
      ))}
      {outcome === 'created' && given.quantity === undefined && <Text size="xs" c="dimmed">Stock: the shop’s default</Text>}
      {addedAs !== undefined && <Text size="xs" c="dimmed">The same row has added it before: <AnchorLink to="/plants/$plantId" params={{ plantId: String(addedAs) }} size="xs">plant {String(addedAs)}</AnchorLink></Text>}
      {faults.map(({ column, detail }) => <Text key={`${column ?? ''} ${detail}`} size="xs" c="var(--mantine-color-error)">{column && `${labels[column]}: `}{detail}</Text>)}
    </>
  );
}
