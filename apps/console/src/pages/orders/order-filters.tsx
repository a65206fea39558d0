import { Button, Chip, Group, Input, TextInput } from '@mantine/core';
import { useDebouncedCallback, useDisclosure } from '@mantine/hooks';
import { IconFilter, IconSearch, IconX } from '@tabler/icons-react';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { tooLong } from '../../ui/page-search.js';
import { PlantField } from '../../ui/plant-field.js';
import { TimeInput } from '../../ui/time-input.js';
import { UserField } from '../../ui/user-field.js';
import { type OrderFilter, orderStatuses, statusesOf, toOrderFilter } from './order-filter.js';
import type { TabFilter } from './order-query.js';

const typingMs = 350;

const isSame = (one: OrderFilter, other: OrderFilter): boolean => textOf(one) === textOf(other);
const textOf = (filter: OrderFilter): string => JSON.stringify(Object.entries(filter).sort());

/** The list's filters, kept in the URL. */
export function OrderFilters({ filter, seesAll, onChange }: { readonly filter: TabFilter; readonly seesAll: boolean; readonly onChange: (filter: OrderFilter) => void }): ReactNode {
  const [draft, setDraft] = useState<OrderFilter>(filter);
  const applied = useRef<OrderFilter>(filter);
  const apply = (next: OrderFilter): void => {
    applied.current = next;
    onChange(next);
  };
  const applySoon = useDebouncedCallback((next: OrderFilter) => apply(toOrderFilter({ ...next })), typingMs);
  // Something else changed the URL, such as "Back" or a link to the page.
  useEffect(() => {
    if (isSame(filter, applied.current)) return;
    applied.current = filter;
    setDraft(filter);
  }, [filter]);
  // The page is left: what is not applied yet is forgotten.
  useEffect(() => () => setDraft(applied.current), []);
  const type = (changed: { readonly [Name in keyof OrderFilter]: OrderFilter[Name] | undefined }): void => {
    const next = Object.fromEntries(Object.entries({ ...draft, ...changed }).filter(([, value]) => value !== undefined && value !== '')) as OrderFilter;
    setDraft(next);
    applySoon(next);
  };
  /** Fields also forget a text that is no plant or time. */
  const [cleared, setCleared] = useState(0);
  const [showsAll, { toggle }] = useDisclosure();
  const isNarrowed = Object.keys(draft).some((name) => name !== 'sort' && name !== 'tab');
  const clear = (): void => {
    applySoon.cancel();
    setCleared(cleared + 1);
    setDraft({ tab: filter.tab });
    apply({ tab: filter.tab });
  };
  return (
    <Group key={cleared} mb="sm" align="flex-end" gap="sm" role="search" aria-label="Filters">
      <TextInput type="search" label="Search" placeholder="Order, tracking, username" leftSection={<IconSearch size={16} aria-hidden />} w={250} error={tooLong(draft.q)} value={draft.q ?? ''} onChange={({ currentTarget: { value } }) => type({ q: value })} />
      <Button hiddenFrom="sm" variant="default" leftSection={<IconFilter size={16} />} aria-expanded={showsAll} onClick={toggle}>Filters</Button>
      <Group align="flex-start" gap="sm" {...(!showsAll && { visibleFrom: 'sm' })}>
        <PlantField label="Plant" placeholder="Name or number" w={260} value={draft.plantId} onChange={(plantId) => type({ plantId })} />
        {seesAll && <UserField label="Owner" placeholder="Anyone" w={140} value={draft.owner ?? ''} onChange={(owner) => type({ owner })} />}
        <TimeInput label="Placed from" w={190} value={draft.from} onChange={(from) => type({ from })} />
        <TimeInput label="Placed before" after={draft.from} w={190} value={draft.before} onChange={(before) => type({ before })} />
        {/* Drawing it takes longer than showing it. */}
        <Input.Wrapper label="Status" labelElement="div" display={filter.tab === 'all' ? undefined : 'none'}>
          <Chip.Group multiple value={statusesOf(draft.status)} onChange={(chosen) => type({ status: chosen.join(',') })}>
            <Group gap={4} role="group" aria-label="Status" mih={36}>
              {orderStatuses.map((one) => <Chip key={one} value={one} variant="outline" size="xs">{one === 'approved' ? 'approved, shipped' : one}</Chip>)}
            </Group>
          </Chip.Group>
        </Input.Wrapper>
        {/* Beside the fields, and narrow: a row of its own would move the list. */}
        {isNarrowed && <Button visibleFrom="sm" variant="subtle" px="xs" mt={24} onClick={clear}>Clear</Button>}
      </Group>
      {isNarrowed && <Button hiddenFrom="sm" variant="subtle" leftSection={<IconX size={16} />} onClick={clear}>Clear</Button>}
    </Group>
  );
}
