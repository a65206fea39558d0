import { Button, Flex, Group, Select, Text, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { IconLeaf, IconPlus, IconSearch, IconUpload } from '@tabler/icons-react';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useMay } from '../../auth/session.js';
import { EmptyState } from '../../ui/empty-state.js';
import { Loading } from '../../ui/loading.js';
import { counted } from '../../ui/numbers.js';
import { PageHeader } from '../../ui/page-header.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { ExportMenu } from './export/export-menu.js';
import { changedFilter, isFiltered, type PlantFilter, plantSorts } from './plant-filter.js';
import { PlantFacets } from './plant-facets.js';
import { PlantTable } from './plant-table.js';
import { usePlantFacets, usePlantList } from './plants-queries.js';

const route = getRouteApi('/plants');

export function PlantsPage(): ReactNode {
  const mayWrite = useMay('write:plants');
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const change = (changed: Parameters<typeof changedFilter>[1]): void => void navigate({ search: (before) => changedFilter(before, changed), replace: true, resetScroll: false });
  return (
    <>
      <PageHeader title="Plants" text="What the shop sells.">
        {mayWrite && (
          <>
            <Button component={Link} to="/plants/import" variant="default" leftSection={<IconUpload size={16} />}>Import</Button>
            <ExportMenu />
            <Button component={Link} to="/plants/new" leftSection={<IconPlus size={16} />}>New plant</Button>
          </>
        )}
      </PageHeader>
      <Flex gap="lg" direction={{ base: 'column', md: 'row' }} align="stretch">
        <PlantFacets filter={filter} onChange={change} />
        <div style={{ flex: 1, minWidth: 0 }}>
          <Group mb="sm" align="flex-end">
            <SearchField q={filter.q ?? ''} onChange={(q) => change({ q })} />
            <Select
              label="Order"
              w={150}
              allowDeselect={false}
              data={plantSorts.map((value) => ({ value, label: sortLabels[value], disabled: value === 'relevance' && filter.q === undefined }))}
              value={filter.sort ?? (filter.q === undefined ? 'newest' : 'relevance')}
              onChange={(value) => change({ sort: plantSorts.find((one) => one === value) })}
            />
          </Group>
          <FoundPlants filter={filter} onClear={() => void navigate({ search: {}, replace: true })} />
        </div>
      </Flex>
    </>
  );
}

const sortLabels: Readonly<Record<(typeof plantSorts)[number], string>> = { relevance: 'Best match', name: 'By name', newest: 'Newest first' };

/** A search field that searches while the user types. */
function SearchField({ q, onChange }: { readonly q: string; readonly onChange: (q: string) => void }): ReactNode {
  const [text, setText] = useState(q);
  const typed = useRef(q);
  const search = useDebouncedCallback((value: string) => {
    typed.current = value.trim();
    onChange(typed.current);
  }, 200);
  // Something else changed the URL, such as "Back" or "Show all plants".
  useEffect(() => {
    if (q !== typed.current) {
      typed.current = q;
      setText(q);
    }
  }, [q]);
  return (
    <TextInput
      type="search"
      label="Search"
      placeholder="Name, tag or category"
      leftSection={<IconSearch size={16} aria-hidden />}
      maxLength={200}
      value={text}
      onChange={({ currentTarget: { value } }) => {
        setText(value);
        search(value);
      }}
      style={{ flex: 1, minWidth: 200 }}
    />
  );
}

function FoundPlants({ filter, onClear }: { readonly filter: PlantFilter; readonly onClear: () => void }): ReactNode {
  const list = usePlantList(filter);
  const facets = usePlantFacets(filter);
  const { hasNextPage, isFetchingNextPage, fetchNextPage, isError } = list;
  const plants = list.data?.pages.flatMap((page) => page.plants) ?? [];
  const isEmpty = plants.length === 0;
  // A page of the list may be empty while another follows.
  useEffect(() => {
    if (isEmpty && hasNextPage && !isFetchingNextPage && !isError) void fetchNextPage();
  }, [isEmpty, hasNextPage, isFetchingNextPage, isError, fetchNextPage]);
  if (list.isPending || (isEmpty && hasNextPage && !isError)) return <Loading />;
  return (
    <>
      <ProblemAlert error={list.error ?? facets.error} title="The plants could not be loaded" />
      <Text size="sm" c="dimmed" mb={4} aria-live="polite">{facets.data ? countText(facets.data) : ' '}</Text>
      {isEmpty && !isError && (isFiltered(filter) ? (
        <EmptyState icon={IconSearch} title="No plant matches" text="Try fewer words, or another tag, category or status.">
          <Button variant="default" onClick={onClear}>Show all plants</Button>
        </EmptyState>
      ) : (
        <EmptyState icon={IconLeaf} title="There are no plants yet" text="Add the first with “New plant”, or import a list of them." />
      ))}
      {!isEmpty && <PlantTable plants={plants} isComplete={!hasNextPage} onNearEnd={() => {
        if (hasNextPage && !isFetchingNextPage && !isError) void fetchNextPage();
      }} />}
    </>
  );
}

const countText = ({ plants, complete }: { readonly plants: number; readonly complete: boolean }): string => (complete ? counted(plants, 'plant') : `More than ${counted(plants, 'plant')}`);
