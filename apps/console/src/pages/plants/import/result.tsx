import { Button, SimpleGrid, Table, Text } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Card } from '../../../ui/card.js';
import { download } from '../../../ui/download.js';
import { counted, formatNumber } from '../../../ui/numbers.js';

// What an import, and its dry run, have found.

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

/** The first refused lines, and a report of all. @param shown how many lines there are rows for */
export function RefusedLines({ count, shown, fileName, report, advice, columns, children }: {
  readonly count: number;
  readonly shown: number;
  readonly fileName: string;
  readonly report: () => Blob;
  readonly advice: string;
  readonly columns: readonly string[];
  readonly children: ReactNode;
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
            <Table.Tr>{columns.map((column) => <Table.Th key={column} scope="col">{column}</Table.Th>)}</Table.Tr>
          </Table.Thead>
          <Table.Tbody>{children}</Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {count > shown && <Text size="sm" c="dimmed" mt="xs">The first {shown}. The report has all.</Text>}
    </Card>
  );
}
