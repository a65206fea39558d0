import { Box, Button, Flex, Group, Select, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconFilter, IconLeaf, IconPlus, IconSearch, IconUpload } from '@tabler/icons-react';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import { useMay } from '../../auth/session.js';
import { AnchorLink } from '../../ui/anchor-link.js';
import { EmptyState } from '../../ui/empty-state.js';
import { Loading } from '../../ui/loading.js';
import { counted, formatNumber } from '../../ui/numbers.js';
import { PageHeader } from '../../ui/page-header.js';
import { mostSearched, tooLong, useFilters, useTypedFilter } from '../../ui/page-search.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { SavedViews } from '../../ui/saved-views.js';
import { ExportMenu } from './export/export-menu.js';
import { isFiltered, sortOf } from './changed-filter.js';
import { type PlantFilter, plantSorts, readPlantFilter } from './plant-filter.js';
import { PlantFacets } from './plant-facets.js';
import { PlantTable } from './plant-table.js';
import { useNumberedPlants, usePlantFacets, usePlantList } from './plants-queries.js';

const route = getRouteApi('/plants');
/** Delay after the last keystroke. */
const typingMs = 200;

export function PlantsPage(): ReactNode {
  const mayWrite = useMay('write:plants');
  const [filter, change] = useFilters(readPlantFilter);
  const navigate = route.useNavigate();
  const [showsFilters, { toggle }] = useDisclosure();
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
        <Button hiddenFrom="md" variant="default" leftSection={<IconFilter size={16} />} aria-expanded={showsFilters} onClick={toggle}>Filters</Button>
        <Box {...(!showsFilters && { visibleFrom: 'md' })}><PlantFacets filter={filter} onChange={change} /></Box>
        <div style={{ flex: 1, minWidth: 0 }}>
          <Group mb="sm" align="flex-end">
            <SearchField q={filter.q ?? ''} onChange={(q) => change({ q })} />
            <Select
              label="Order"
              w={150}
              disabled={filter.stock === 'uncounted'}
              allowDeselect={false}
              data={plantSorts.map((value) => ({ value, label: sortLabels[value], disabled: (value === 'relevance' && filter.q === undefined) || (value === 'stock' && filter.stock === undefined) }))}
              value={sortOf(filter)}
              onChange={(value) => change({ sort: plantSorts.find((one) => one === value) })}
            />
            <SavedViews list="plants" current={filter} read={readPlantFilter} onOpen={(view) => void navigate({ search: view })} />
          </Group>
          <FoundPlants filter={filter} onClear={() => void navigate({ search: {} })} />
        </div>
      </Flex>
    </>
  );
}

const sortLabels: Readonly<Record<(typeof plantSorts)[number], string>> = { relevance: 'Best match', name: 'By name', newest: 'Newest first', stock: 'Fewest units' };

/** A search field that searches while the user types. */
function SearchField({ q, onChange }: { readonly q: string; readonly onChange: (q: string) => void }): ReactNode {
  const [text, type] = useTypedFilter(q, onChange, typingMs);
  return (
    <TextInput
      type="search"
      label="Search"
      placeholder="Name, tag or category"
      leftSection={<IconSearch size={16} aria-hidden />}
      error={tooLong(text)}
      value={text}
      onChange={({ currentTarget: { value } }) => type(value)}
      style={{ flex: 1, minWidth: 200 }}
    />
  );
}

function FoundPlants({ filter, onClear }: { readonly filter: PlantFilter; readonly onClear: () => void }): ReactNode {
  const list = usePlantList(filter);
  const facets = usePlantFacets(filter);
  const numbered = useNumberedPlants(filter.q?.slice(0, mostSearched)) ?? [];
  const { hasNextPage, isFetchingNextPage, fetchNextPage, isError, isPlaceholderData } = list;
  const pages = list.data?.pages ?? [];
  const lookedAt = pages.reduce((sum, page) => sum + page.lookedAt, 0);
  const [mostLookedAt, setMostLookedAt] = useState(lookStep);
  // The API cannot find plants by their stock: the console looks at one after the other, and at many only when it is asked to.
  const mayLook = hasNextPage && !isError && (filter.stock === undefined || lookedAt < mostLookedAt);
  const plants = pages.flatMap((page) => page.plants);
  if (sortOf(filter) === 'stock') {
    const units = Object.assign({}, ...pages.map((page) => page.units)) as Readonly<Record<number, number>>;
    plants.sort((one, other) => (units[one.id] ?? 0) - (units[other.id] ?? 0) || 0);
  }
  const isEmpty = plants.length === 0;
  // What is shown is of the words before.
  const isOld = isPlaceholderData || facets.isPlaceholderData;
  // A page of the list may be empty while another follows, and the order by units needs all.
  const needsMore = mayLook && !isPlaceholderData && (isEmpty || (filter.stock !== undefined && filter.stock !== 'uncounted'));
  useEffect(() => {
    if (needsMore && !isFetchingNextPage) void fetchNextPage();
  }, [needsMore, isFetchingNextPage, fetchNextPage]);
  if (list.isPending || (isEmpty && mayLook)) return <Loading />;
  return (
    <>
      <ProblemAlert error={list.error ?? facets.error} title="The plants could not be loaded" isShown={list.data !== undefined} />
      <Text size="sm" c="dimmed" mb={4} aria-live="polite">{isOld ? 'Searching …' : filter.stock === undefined ? facets.data && countText(facets.data) : stockText({ found: plants.length, lookedAt, isComplete: !hasNextPage, level: filter.stock })}{' '}</Text>
      {filter.stock !== undefined && hasNextPage && !mayLook && <Button variant="default" size="xs" mb="sm" onClick={() => setMostLookedAt(lookedAt + lookStep)}>Look at more plants</Button>}
      {numbered.map(({ id, name, externalId }) => (
        <Text key={id} size="sm" mb={4}>{externalId === filter.q ? `External id ${externalId}` : `Plant ${id}`}: <AnchorLink to="/plants/$plantId" params={{ plantId: String(id) }} inherit>{name}</AnchorLink></Text>
      ))}
      {isEmpty && numbered.length === 0 && !isError && !isOld && (isFiltered(filter) ? (
        <EmptyState icon={IconSearch} title="No plant matches" text="Try fewer words, or another tag, category or status.">
          <Button variant="default" onClick={onClear}>Show all plants</Button>
        </EmptyState>
      ) : (
        <EmptyState icon={IconLeaf} title="There are no plants yet" text="Add the first with “New plant”, or import a list of them." />
      ))}
      {!isEmpty && (
        <Box opacity={isOld ? 0.5 : 1} aria-busy={isOld}>
          <PlantTable plants={plants} isComplete={!hasNextPage} onNearEnd={() => {
            if (mayLook && !isFetchingNextPage) void fetchNextPage();
          }} />
        </Box>
      )}
    </>
  );
}

/** Plants whose stock is looked at before the page asks. */
const lookStep = 5_000;

function stockText({ found, lookedAt, isComplete, level }: { readonly found: number; readonly lookedAt: number; readonly isComplete: boolean; readonly level: NonNullable<PlantFilter['stock']> }): string {
  const are = found === 1 ? 'is' : 'are';
  if (level === 'uncounted') return `${counted(found, 'plant')} ${are} not counted${isComplete ? '' : `, among the newest ${formatNumber(lookedAt)}: there may be more`}.`;
  return `${counted(found, 'plant')} for sale ${are} ${level === 'out' ? 'out of stock' : 'low on stock or out of it'}, ${isComplete ? `of ${formatNumber(lookedAt)}` : `among the first ${formatNumber(lookedAt)}: there may be more`}.`;
}

const countText = ({ plants, complete }: { readonly plants: number; readonly complete: boolean }): string => (complete ? counted(plants, 'plant') : `More than ${counted(plants, 'plant')}`);
