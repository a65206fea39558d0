import { Skeleton, Text, Timeline } from '@mantine/core';
import type { ReactNode } from 'react';
import { Card } from '../../ui/card.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { statusColors } from '../../ui/status-badge.js';
import { Time } from '../../ui/time.js';
import type { TimelineEntry } from './queries.js';

const actors: Readonly<Record<TimelineEntry['actor'], string>> = { owner: 'the owner', staff: 'staff', store: 'the shop' };

export const OrderTimeline = ({ entries, error }: { readonly entries: readonly TimelineEntry[] | undefined; readonly error: unknown }): ReactNode => (
  <Card title="Timeline">
    <ProblemAlert error={error} title="The timeline could not be loaded" />
    {!entries && !error && <Skeleton h={160} />}
    {entries && (
      <Timeline active={entries.length - 1} bulletSize={18} lineWidth={2} style={{ overflowWrap: 'anywhere' }}>
        {entries.map((entry, n) => (
          <Timeline.Item key={n} color={statusColors[entry.newStatus] ?? 'gray'} title={<Text fw={500} size="sm">{titleOf(entry)}</Text>}>
            <Text size="sm" c="dimmed"><Time at={entry.at} /> · by {actors[entry.actor]}</Text>
            {entry.carrier !== undefined && <Text size="sm">{entry.carrier}, <Text span inherit ff="monospace">{entry.trackingNumber}</Text></Text>}
          </Timeline.Item>
        ))}
      </Timeline>
    )}
  </Card>
);

function titleOf({ previousStatus, newStatus, reason }: TimelineEntry): string {
  const why = reason.replaceAll('-', ' ');
  return previousStatus === undefined ? why.charAt(0).toUpperCase() + why.slice(1) : `${previousStatus} → ${newStatus}: ${why}`;
}
