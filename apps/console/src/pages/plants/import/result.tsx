import { Badge, Button, Code, SimpleGrid, Table, Text } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Card } from '../../../ui/card.js';
import { download } from '../../../ui/download.js';
import { counted, formatNumber } from '../../../ui/numbers.js';
import type { Outcome } from './dry-run.js';
import { labels, lineText, type RefusedLine, textOf, valuesOf } from './report.js';

// What an import, and its dry run, have found.

const outcomes: Readonly<Record<Outcome, { readonly label: string; readonly color: string }>> = {
  created: { label: 'New', color: 'green' },
  updated: { label: 'Changed', color: 'blue' },
  unchanged: { label: 'Unchanged', color: 'gray' },
  refused: { label: 'Refused', color: 'red' },
};

const OutcomeBadge = ({ outcome }: { readonly outcome: Outcome }): ReactNode => <Badge variant="light" color={outcomes[outcome].color} tt="none">{outcomes[outcome].label}</Badge>;

/** Why rows without an id are unchanged. */
export const AddedBefore = ({ count }: { readonly count: number }): ReactNode =>
  count > 0 && <Text size="sm" mt="xs">{count === 1 ? 'The same row has' : 'The same rows have'} added {counted(count, 'plant')} before. {count === 1 ? 'It is' : 'They are'} not added again.</Text>;

/** How many lines had each outcome. */
export const Numbers = ({ numbers }: { readonly numbers: Readonly<Record<string, number>> }): ReactNode => (
  <SimpleGrid cols={{ base: 2, sm: 4 }} component="dl" mb={0}>
    {Object.entries(numbers).map(([label, value]) => (
      <div key={label}>
        <Text component="dt" size="sm" c="dimmed">{label}</Text>
        <Text component="dd" m={0} size="xl" fw={600} className="numbers">{formatNumber(value)}</Text>
      </div>
    ))}
  </SimpleGrid>
);

/** Lines of a file, with what became, or would become, of each. */
export const PlantLines = <Line extends { readonly number: number; readonly outcome: Outcome }>({ name, lines, renderPlant }: {
  readonly name: string;
  readonly lines: readonly Line[];
  readonly renderPlant: (line: Line) => ReactNode;
}): ReactNode => (
  <Table layout="fixed" stickyHeader aria-label={name}>
    <Table.Thead>
      <Table.Tr>
        <Table.Th scope="col" w={70}>Line</Table.Th>
        <Table.Th scope="col" w={112}>What</Table.Th>
        <Table.Th scope="col">Plant</Table.Th>
      </Table.Tr>
    </Table.Thead>
    <Table.Tbody>
      {lines.map((line) => (
        <Table.Tr key={line.number}>
          <Table.Td className="numbers" valign="top">{formatNumber(line.number)}</Table.Td>
          <Table.Td valign="top"><OutcomeBadge outcome={line.outcome} /></Table.Td>
          <Table.Td style={{ overflowWrap: 'anywhere' }}>{renderPlant(line)}</Table.Td>
        </Table.Tr>
      ))}
    </Table.Tbody>
  </Table>
);

/** The first refused lines, with the cells that are wrong, and a report of all. */
export function RefusedLines({ count, lines, fileName, report, advice }: {
  readonly count: number;
  readonly lines: readonly RefusedLine[];
  readonly fileName: string;
  readonly report: () => Blob;
  readonly advice: string;
}): ReactNode {
  return (
    <Card
      title={counted(count, 'refused line')}
      aside={<Button variant="default" leftSection={<IconDownload size={16} />} onClick={() => download(report(), `${fileName.replace(/\.\w+$/, '')}-refused.csv`)}>Download the report</Button>}
    >
      <Text size="sm" c="dimmed" mb="xs">{advice}</Text>
      <Table.ScrollContainer minWidth={560} maxHeight={420}>
        <Table stickyHeader aria-label="Refused">
          <Table.Thead>
            <Table.Tr>{['Line', 'Column', 'Problem', 'Content'].map((column) => <Table.Th key={column} scope="col">{column}</Table.Th>)}</Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {lines.flatMap(({ number, faults, text }) => faults.map(({ column, detail }) => {
              const content = column ? textOf(valuesOf(text), column) : lineText(text);
              return (
                <Table.Tr key={`${String(number)} ${column ?? ''} ${detail}`}>
                  <Table.Td className="numbers">{formatNumber(number)}</Table.Td>
                  <Table.Td>{column ? labels[column] : 'All'}</Table.Td>
                  <Table.Td style={{ overflowWrap: 'anywhere' }}>{detail}</Table.Td>
                  <Table.Td style={{ overflowWrap: 'anywhere' }}>{content === '' ? '–' : <Code>{content.slice(0, 200)}</Code>}</Table.Td>
                </Table.Tr>
              );
            }))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {count > lines.length && <Text size="sm" c="dimmed" mt="xs">The first {lines.length}. The report has all.</Text>}
    </Card>
  );
}
