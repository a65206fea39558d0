import { Button, Checkbox, Group, Radio, Stack, Text } from '@mantine/core';
import type { components } from '@plant-shop/client';
import { type ReactNode, useState } from 'react';
import { useMay } from '../../auth/session.js';
import { formatNumber } from '../../ui/numbers.js';
import { changedFilter } from './changed-filter.js';
import { type PlantFilter, plantStatuses, stockLevels } from './plant-filter.js';
import { usePlantFacets } from './plants-queries.js';

type Count = components['schemas']['FacetCount'];
type Change = (changed: Parameters<typeof changedFilter>[1]) => void;

/** Values of a facet shown at first. */
const firstShown = 8;

/** The search facets. Each group's counts ignore its own filter, so that they show the effect of another choice. */
export function PlantFacets({ filter, onChange }: { readonly filter: PlantFilter; readonly onChange: Change }): ReactNode {
  const maySetStock = useMay('write:stock');
  const byStatus = usePlantFacets(changedFilter(filter, { status: undefined }));
  const byCategory = usePlantFacets(changedFilter(filter, { category: undefined }));
  const byTags = usePlantFacets(changedFilter(filter, { tags: undefined }));
  return (
    <Stack gap="lg" w={{ base: '100%', md: 210 }} component="search" aria-label="Filters">
      <Facet label="Stock">
        <Radio.Group value={filter.stock ?? ''} onChange={(chosen) => onChange({ stock: stockLevels.find((one) => one === chosen) })}>
          <Stack gap={6}>
            <Radio value="" size="sm" label="Any" />
            <Radio value="low" size="sm" label="Low or out" />
            <Radio value="out" size="sm" label="Out" />
            {maySetStock && <Radio value="uncounted" size="sm" label="Not counted" />}
          </Stack>
        </Radio.Group>
      </Facet>
      <Facet label="Status">
        <Checkbox.Group value={[...(filter.status ?? [])]} onChange={(chosen) => onChange({ status: plantStatuses.filter((one) => chosen.includes(one)) })}>
          <Stack gap={6}>
            {plantStatuses.map((status) => (
              <Checkbox key={status} value={status} size="sm" label={<Label value={status} count={byStatus.data && (byStatus.data.status.find(({ value }) => value === status)?.plants ?? 0)} isComplete={byStatus.data?.complete} />} />
            ))}
          </Stack>
        </Checkbox.Group>
      </Facet>
      <Choices label="Category" counts={byCategory.data?.category ?? []} chosen={filter.category === undefined ? [] : [filter.category]} isComplete={byCategory.data?.complete}>
        {(values) => (
          <Radio.Group value={filter.category ?? ''} onChange={(category) => onChange({ category: category === '' ? undefined : category })}>
            <Stack gap={6}>
              <Radio value="" size="sm" label="All" />
              {values.map(({ value, plants }) => <Radio key={value} value={value} size="sm" label={<Label value={value} count={plants} isComplete={byCategory.data?.complete} />} />)}
            </Stack>
          </Radio.Group>
        )}
      </Choices>
      <Choices label="Tags" counts={byTags.data?.tags ?? []} chosen={filter.tags ?? []} isComplete={byTags.data?.complete}>
        {(values) => (
          <Checkbox.Group value={[...(filter.tags ?? [])]} onChange={(tags) => onChange({ tags })}>
            <Stack gap={6}>
              {values.map(({ value, plants }) => <Checkbox key={value} value={value} size="sm" label={<Label value={value} count={plants} isComplete={byTags.data?.complete} />} />)}
            </Stack>
          </Checkbox.Group>
        )}
      </Choices>
    </Stack>
  );
}

const Facet = ({ label, children }: { readonly label: string; readonly children: ReactNode }): ReactNode => (
  <div role="group" aria-label={label}>
    <Text fw={600} size="sm" mb={6} aria-hidden>{label}</Text>
    {children}
  </div>
);

/** The most frequent values, and selected ones that no plant has. */
function Choices({ label, counts, chosen, isComplete = true, children }: { readonly label: string; readonly counts: readonly Count[]; readonly chosen: readonly string[]; readonly isComplete?: boolean | undefined; readonly children: (values: readonly Count[]) => ReactNode }): ReactNode {
  const [showsAll, setShowsAll] = useState(false);
  const missing = chosen.filter((one) => !counts.some(({ value }) => value === one)).map((value) => ({ value, plants: 0 }));
  const all = [...missing, ...counts];
  const shown = showsAll ? all : all.filter(({ value }, index) => index < firstShown || chosen.includes(value));
  if (all.length === 0 && isComplete) return null;
  return (
    <Facet label={label}>
      {children(shown)}
      {all.length > shown.length && <Button variant="subtle" size="compact-xs" mt={6} onClick={() => setShowsAll(true)}>{formatNumber(all.length - shown.length)} more</Button>}
      {!isComplete && <Text size="xs" c="dimmed" mt={6}>Only those of the newest plants. The search finds others, too.</Text>}
    </Facet>
  );
}

const Label = ({ value, count, isComplete = true }: { readonly value: string; readonly count: number | undefined; readonly isComplete?: boolean | undefined }): ReactNode => (
  <Group gap={6} wrap="nowrap" style={{ overflowWrap: 'anywhere' }}>
    <span>{value}</span>
    <Text span size="xs" c="dimmed" className="numbers">{count !== undefined && (isComplete || count > 0) ? formatNumber(count) : ''}{!isComplete && count !== undefined && count > 0 && '+'}</Text>
  </Group>
);
