import { Button, Chip, Group, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { IconX } from '@tabler/icons-react';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { localInput } from '../../ui/local-input.js';
import { PlantField } from '../../ui/plant-field.js';
import { type OrderFilter, orderStatuses, statusesOf, toOrderFilter } from './order-filter.js';

const typingMs = 350;

const textOf = (filter: OrderFilter): string => JSON.stringify(Object.entries(filter).sort());
const localOf = (time: string | undefined): string => (time === undefined ? '' : localInput(Date.parse(time)));

/** The list's filters, kept in the URL. */
export function OrderFilters({ filter, seesAll, onChange }: { readonly filter: OrderFilter; readonly seesAll: boolean; readonly onChange: (filter: OrderFilter) => void }): ReactNode {
  const [draft, setDraft] = useState<OrderFilter>(filter);
  const applied = useRef(textOf(filter));
  const apply = (next: OrderFilter): void => {
    applied.current = textOf(next);
    onChange(next);
  };
  const applySoon = useDebouncedCallback((next: OrderFilter) => apply(toOrderFilter({ ...next })), typingMs);
  // Something else changed the URL, such as "Back" or a link to the page.
  useEffect(() => {
    if (textOf(filter) === applied.current) return;
    applied.current = textOf(filter);
    setDraft(filter);
  }, [filter]);
  const type = (changed: { readonly [Name in keyof OrderFilter]: OrderFilter[Name] | undefined }): void => {
    const next = Object.fromEntries(Object.entries({ ...draft, ...changed }).filter(([, value]) => value !== undefined && value !== '')) as OrderFilter;
    setDraft(next);
    applySoon(next);
  };
  const isNarrowed = Object.keys(draft).some((name) => name !== 'sort');
  return (
    <Group mb="md" align="flex-end" gap="sm" role="search" aria-label="Filters">
      <Chip.Group multiple value={statusesOf(draft.status)} onChange={(chosen) => type({ status: chosen.join(',') })}>
        <Group gap={4} role="group" aria-label="Status" mih={36}>
          {orderStatuses.map((one) => <Chip key={one} value={one} variant="outline" size="xs">{one}</Chip>)}
        </Group>
      </Chip.Group>
      <Group gap={4} role="group" aria-label="Work" mih={36}>
        <Chip variant="outline" size="xs" checked={draft.shipped === false} onChange={(isOn) => type({ shipped: isOn ? false : undefined })}>not shipped</Chip>
        <Chip variant="outline" size="xs" checked={draft.refund === 'due'} onChange={(isOn) => type({ refund: isOn ? 'due' : undefined })}>refund due</Chip>
        <Chip variant="outline" size="xs" checked={draft.sort === 'placedAt'} onChange={(isOn) => type({ sort: isOn ? 'placedAt' : undefined })}>oldest first</Chip>
      </Group>
      <PlantField label="Plant" placeholder="Name or number" w={180} value={draft.plantId} onChange={(plantId) => type({ plantId })} />
      {seesAll && <TextInput label="Owner" placeholder="Anyone" w={140} value={draft.owner ?? ''} onChange={({ currentTarget: { value } }) => type({ owner: value })} />}
      <TextInput label="Placed from" type="datetime-local" w={190} value={localOf(draft.from)} onChange={({ currentTarget: { value } }) => type({ from: toOrderFilter({ from: value }).from })} />
      <TextInput label="Placed before" type="datetime-local" w={190} value={localOf(draft.before)} onChange={({ currentTarget: { value } }) => type({ before: toOrderFilter({ before: value }).before })} />
      {isNarrowed && (
        <Button
          variant="subtle"
          leftSection={<IconX size={16} />}
          onClick={() => {
            setDraft({});
            apply({});
          }}
        >
          Clear
        </Button>
      )}
    </Group>
  );
}
