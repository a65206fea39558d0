import { ActionIcon, Badge, Group, Text } from '@mantine/core';
import { IconPlusMinus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { useShop } from '../../auth/session.js';
import { formatNumber } from '../../ui/numbers.js';
import { AdjustStock } from './adjust-stock.js';
import type { Plant, PlantFilter } from './plant-filter.js';
import { listMs, stockQuery, useLevel } from './plants-queries.js';

/** Rows that are scrolled past faster than this load nothing: the API has the stock of one plant at a time. */
const settledMs = 150;

/** A plant's stock in the list, with the button that changes it. */
export function StockCell({ plant: { id, name } }: { readonly plant: Plant }): ReactNode {
  const [isSettled, setSettled] = useState(false);
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(true), settledMs);
    return () => {
      clearTimeout(timer);
      setSettled(false);
    };
  }, []);
  const { data, isError } = useQuery({ ...stockQuery(useShop(), id), enabled: isSettled, staleTime: listMs, refetchInterval: listMs });
  const level = useLevel(data?.value);
  return (
    <Group role="cell" gap={6} wrap="nowrap" justify="space-between">
      <div style={{ minWidth: 0 }}>
        <Text size="sm" className="numbers" truncate>{data ? `${formatNumber(data.value.free)} free` : isError ? 'Unknown' : '…'}</Text>
        <Group gap={4} wrap="nowrap">
          <StockLevel level={level} />
          {data && data.value.reserved > 0 && <Text size="xs" c="dimmed" className="numbers" truncate>{formatNumber(data.value.reserved)} reserved</Text>}
        </Group>
      </div>
      <ActionIcon variant="default" size="md" aria-label={`Change the stock of ${name}`} title="Change the stock" onClick={() => setOpen(true)}><IconPlusMinus size={16} /></ActionIcon>
      {isOpen && <AdjustStock plantId={id} name={name} onClose={() => setOpen(false)} />}
    </Group>
  );
}

const levels = { uncounted: { label: 'Not counted', color: 'red' }, out: { label: 'Out', color: 'red' }, low: { label: 'Low', color: 'orange' } } as const;

export const StockLevel = ({ level }: { readonly level: PlantFilter['stock'] }): ReactNode =>
  level && <Badge variant="light" size="xs" color={levels[level].color} tt="none" miw="max-content">{levels[level].label}</Badge>;
