import { Button, Chip, Group, NumberInput, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { IconX } from '@tabler/icons-react';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { type OrderFilter, orderStatuses, statusesOf, toOrderFilter } from './order-filter.js';

const typingMs = 350;

const textOf = (filter: OrderFilter): string => JSON.stringify(Object.entries(filter).sort());

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
  return (
    <Group mb="md" align="flex-end" gap="sm" role="search" aria-label="Filters">
      <Chip.Group multiple value={statusesOf(draft.status)} onChange={(chosen) => type({ status: chosen.join(',') })}>
        <Group gap={4} role="group" aria-label="Status" mih={36}>
          {orderStatuses.map((one) => <Chip key={one} value={one} variant="outline" size="xs">{one}</Chip>)}
        </Group>
      </Chip.Group>
      <NumberInput label="Plant" placeholder="Any" w={100} hideControls allowDecimal={false} allowNegative={false} value={draft.plantId ?? ''} onChange={(value) => type({ plantId: value === '' ? undefined : Number(value) })} />
      {seesAll && <TextInput label="Owner" placeholder="Anyone" w={120} value={draft.owner ?? ''} onChange={({ currentTarget: { value } }) => type({ owner: value })} />}
      <TextInput label="Placed from" type="datetime-local" w={190} value={draft.from ?? ''} onChange={({ currentTarget: { value } }) => type({ from: value })} />
      <TextInput label="Placed before" type="datetime-local" w={190} value={draft.before ?? ''} onChange={({ currentTarget: { value } }) => type({ before: value })} />
      {Object.keys(draft).length > 0 && (
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
