import { Alert, Button, Group, Table, Text } from '@mantine/core';
import { IconArrowsSplit2 } from '@tabler/icons-react';
import { type ReactNode, useEffect, useRef } from 'react';

export interface Difference {
  readonly label: string;
  readonly theirs: string;
  readonly mine: string;
}

/** Shows both versions after an edit conflict (412), to choose from: in the form, which keeps what was typed, and sends it only if it is valid. */
export function ChangedMeanwhile({ title, differences, takeTheirs, keepMine, isBusy, onTakeTheirs }: {
  readonly title: string;
  readonly differences: readonly Difference[];
  /** The verbs on the buttons: "Keep 30", "Set it to 40". */
  readonly takeTheirs: string;
  readonly keepMine: string;
  readonly isBusy: boolean;
  readonly onTakeTheirs: () => void;
}): ReactNode {
  const choice = useRef<HTMLDivElement>(null);
  // Keyboard users continue at the choice.
  useEffect(() => choice.current?.focus(), []);
  return (
    <Alert ref={choice} tabIndex={-1} color="yellow" variant="light" icon={<IconArrowsSplit2 />} title={title} role="alertdialog" aria-label={title}>
      <Text size="sm">Your changes are not saved yet. Choose which version to keep.</Text>
      <Table my="xs" withRowBorders={false} layout="fixed">
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col"><Text span size="sm" fw={600}>What</Text></Table.Th>
            <Table.Th scope="col">In the shop now</Table.Th>
            <Table.Th scope="col">Yours</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {differences.map(({ label, theirs, mine }) => (
            <Table.Tr key={label}>
              <Table.Th scope="row">{label}</Table.Th>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>{theirs}</Table.Td>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>{mine}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Group>
        <Button variant="default" onClick={onTakeTheirs} disabled={isBusy}>{takeTheirs}</Button>
        <Button type="submit" loading={isBusy}>{keepMine}</Button>
      </Group>
    </Alert>
  );
}
