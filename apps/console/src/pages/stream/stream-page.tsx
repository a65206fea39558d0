import { Badge, Button, Grid, Group, Text } from '@mantine/core';
import { IconActivity, IconClearAll, IconPlayerPause, IconPlayerPlay } from '@tabler/icons-react';
import { ShopProblem } from '@plant-shop/client';
import { type ReactNode, use, useEffect, useMemo, useState } from 'react';
import { useCell, useSession, useShop } from '../../auth/session.js';
import { Cell } from '../../shop/cell.js';
import { EmptyState } from '../../ui/empty-state.js';
import { counted, formatNumber } from '../../ui/numbers.js';
import { PageHeader } from '../../ui/page-header.js';
import { PageSearch } from '../../ui/page-search.js';
import { Refusal } from '../../ui/problem.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { EventList } from './event-list.js';
import { FramePanel } from './frame-panel.js';
import { StreamFilters } from './stream-filters.js';
import { filterOf, streamSearch } from './stream-search.js';
import { bufferSize, maxEntries, Tail, type TailEntry, type TailSnapshot } from './tail.js';

/** Until the reader continues, also with other filters and after other pages. */
const paused = new Cell(false);

const unknownCursor = new Refusal('The place to go on from is unknown.', 'Write another cursor, or choose “Now” or “The oldest event kept” under “From”.');

export function StreamPage(): ReactNode {
  const shop = useShop();
  const search = streamSearch(use(PageSearch));
  const wanted = JSON.stringify(search);
  // Another filter is another stream.
  const tail = useMemo(() => new Tail(shop, filterOf(JSON.parse(wanted) as typeof search)), [shop, wanted]);
  useEffect(() => {
    tail.start();
    return () => tail.close();
  }, [tail]);
  const isPaused = useCell(paused);
  useEffect(() => tail.setPaused(isPaused), [tail, isPaused]);
  const snapshot = useCell(tail.snapshot);
  const [selection, select] = useState<{ readonly of: Tail; readonly entry: TailEntry }>();
  const selected = selection?.of === tail ? selection.entry : undefined;
  const { entries, error } = snapshot;
  const isUnknownCursor = error instanceof ShopProblem && error.is('invalid-cursor');
  return (
    <>
      <PageHeader title="Stream" text="Order events, as they happen.">
        <Button variant="default" leftSection={<IconClearAll size={16} />} onClick={() => tail.clear()} disabled={entries.length === 0}>Clear</Button>
        <Button leftSection={isPaused ? <IconPlayerPlay size={16} /> : <IconPlayerPause size={16} />} onClick={() => paused.set(!isPaused)}>{isPaused ? 'Continue' : 'Pause'}</Button>
      </PageHeader>
      <StreamFilters />
      <StateLine {...snapshot} />
      <ProblemAlert error={isUnknownCursor ? unknownCursor : error} title={isUnknownCursor ? 'The shop does not know this cursor' : 'The stream could not be opened'} />
      {entries.length === 0 && error === undefined && <Waiting {...snapshot} />}
      {entries.length > 0 && (
        <Grid>
          <Grid.Col span={{ base: 12, md: 7, lg: 8 }}><EventList entries={entries} selected={selected} onSelect={(entry) => select({ of: tail, entry })} /></Grid.Col>
          <Grid.Col span={{ base: 12, md: 5, lg: 4 }}><FramePanel entry={selected} /></Grid.Col>
        </Grid>
      )}
    </>
  );
}

const states = { offline: { label: 'Offline', color: 'gray' }, connecting: { label: 'Connecting', color: 'yellow' }, live: { label: 'Live', color: 'green' }, refused: { label: 'Ended', color: 'red' } } as const;

/** What the stream is, as far as it is known: this computer may notice first that its network, or a part of the shop, is gone. */
function useStreamState({ state }: TailSnapshot): keyof typeof states {
  const { connection } = useSession();
  const isOnline = useCell(connection.isOnline);
  const { isAway } = useCell(connection.state);
  if (state === 'refused') return state;
  return isOnline ? (isAway ? 'connecting' : state) : 'offline';
}

function StateLine(snapshot: TailSnapshot): ReactNode {
  const { isPaused, received, waiting } = snapshot;
  const state = useStreamState(snapshot);
  const isEnded = state === 'refused';
  const { label, color } = isPaused && !isEnded ? { label: 'Paused', color: 'blue' } : states[state];
  return (
    <Group gap="xs" mb="sm" mih={24}>
      <div role="status"><Badge variant="light" color={color} tt="none">{label}</Badge></div>
      <Text size="sm" className="numbers">{counted(received, 'event')} received</Text>
      {received > maxEntries && <Text size="sm" c="dimmed">The newest {formatNumber(maxEntries)} are kept here.</Text>}
      {isPaused && !isEnded && <Text size="sm" c="dimmed">{counted(waiting, 'event waits', 'events wait')}. Of those that come, {formatNumber(bufferSize)} wait here and later ones in the shop. Nothing is skipped.</Text>}
    </Group>
  );
}

const titles = { offline: 'Offline', connecting: 'Connecting …', live: 'Waiting for the next event', refused: 'Ended' } as const;

function Waiting(snapshot: TailSnapshot): ReactNode {
  const state = useStreamState(snapshot);
  const isPaused = snapshot.isPaused && state !== 'refused';
  return (
    <EmptyState
      icon={IconActivity}
      title={isPaused ? `Paused, ${counted(snapshot.waiting, 'event waits', 'events wait')}` : titles[state]}
      text={isPaused ? 'Press “Continue” to see those that wait.' : 'Events are shown here as soon as they happen. To see past ones, start from the oldest event or from a cursor.'}
    />
  );
}
