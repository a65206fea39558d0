import { Button, Center, Table, Text, Title } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { type ReactNode, useId } from 'react';
import { useShop } from '../../auth/session.js';
import { AnchorLink } from '../../ui/anchor-link.js';
import { counted, formatNumber } from '../../ui/numbers.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { Time } from '../../ui/time.js';
import { signed } from './adjust-stock.js';
import { stockChanges, type StockEntry, stockMs } from './plants-queries.js';

const pageSize = 10;

/** Who changed a plant's stock, when and why, newest first. */
export function StockHistory({ plantId }: { readonly plantId: number }): ReactNode {
  const shop = useShop();
  const title = useId();
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: ['plant', plantId, 'changes'],
    refetchInterval: stockMs,
    queryFn: ({ signal, pageParam }) => stockChanges(shop, plantId, { limit: pageSize, ...(pageParam !== undefined && { cursor: pageParam }) }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
  });
  const entries = data?.pages.flatMap((page) => page.entries) ?? [];
  return (
    <section aria-labelledby={title}>
      <Title order={3} size="h6" id={title} mb={4}>Changes by staff</Title>
      <ProblemAlert error={error} title="The changes could not be loaded" isShown={data !== undefined} />
      {data && entries.length === 0 && <Text size="sm" c="dimmed">Nobody has changed the stock yet.</Text>}
      {entries.length > 0 && (
        <Table layout="fixed" aria-labelledby={title}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th scope="col">Units</Table.Th>
              <Table.Th scope="col">Free then</Table.Th>
              <Table.Th scope="col" w="55%">Why, who and when</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {entries.map((entry) => (
              <Table.Tr key={entry.id}>
                <Table.Td className="numbers" valign="top" style={{ overflowWrap: 'anywhere' }}>{signed(entry.by)}</Table.Td>
                <Table.Td className="numbers" valign="top" style={{ overflowWrap: 'anywhere' }}>{formatNumber(entry.free)}</Table.Td>
                <Table.Td style={{ overflowWrap: 'anywhere' }}>
                  <Text size="sm"><Why entry={entry} /></Text>
                  <Text size="xs" c="dimmed">{entry.username ?? (entry.actor === undefined ? 'The shop' : 'A deleted user')}, <Time at={entry.at} /></Text>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
      {hasNextPage && <Center mt="xs"><Button variant="default" size="xs" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>Show older</Button></Center>}
    </section>
  );
}

function Why({ entry: { reason, orderId, writtenOff } }: { readonly entry: StockEntry }): ReactNode {
  if (orderId === undefined) return reason ?? 'The free units were set.';
  return (
    <>
      <AnchorLink to="/orders/$orderId" params={{ orderId: String(orderId) }}>Order {orderId}</AnchorLink> was cancelled
      {writtenOff !== undefined && writtenOff > 0 && `, ${counted(writtenOff, 'unit')} written off`}
      {reason !== undefined && `: ${reason}`}
    </>
  );
}
