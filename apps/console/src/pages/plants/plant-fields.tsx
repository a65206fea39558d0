import { Autocomplete, Button, Input, SegmentedControl, Stack, TagsInput, TextInput } from '@mantine/core';
import { type ReactNode, useId } from 'react';
import { formatNumber, trimmed } from '../../ui/numbers.js';
import { faultOf } from '../../ui/problem.js';
import { plantStatuses } from './plant-filter.js';
import { formLabels, type PlantFormValues } from './plant-form-values.js';
import { usePlantFacets } from './plants-queries.js';

/** A plant's fields with the shop's errors. Suggests existing categories and tags. */
export function PlantFields({ values, error, onChange }: { readonly values: PlantFormValues; readonly error: unknown; readonly onChange: (values: PlantFormValues) => void }): ReactNode {
  const facets = usePlantFacets({});
  const statusLabel = useId();
  const known = facets.data?.tags.map(({ value }) => value) ?? [];
  // What was written as a list; a tag that plants have may contain commas.
  const listed = values.tags.filter((tag) => /,\s*\S/.test(tag) && facets.isSuccess && !known.includes(tag));
  const set = (changed: Partial<PlantFormValues>): void => onChange({ ...values, ...changed });
  return (
    <Stack gap="sm">
      <TextInput label={formLabels.name} required value={values.name} error={faultOf(error, 'name')} onChange={({ currentTarget: { value } }) => set({ name: value })} />
      <div>
        <Input.Label id={statusLabel} labelElement="div" display="block">{formLabels.status}</Input.Label>
        <SegmentedControl aria-labelledby={statusLabel} value={values.status} onChange={(value) => set({ status: plantStatuses.find((one) => one === value) ?? values.status })} data={[...plantStatuses]} />
      </div>
      <Autocomplete label={formLabels.category} data={facets.data?.category.map(({ value }) => value) ?? []} limit={20} value={values.category} error={faultOf(error, 'category')} onChange={(category) => set({ category })} />
      <TagsInput
        label={formLabels.tags}
        description="Enter adds a tag. It may contain commas."
        maxTags={64}
        // Tags may contain commas.
        splitChars={[]}
        limit={20}
        data={known}
        value={[...values.tags]}
        error={faultOf(error, 'tags')}
        clearable
        clearButtonProps={{ 'aria-label': 'Remove all tags' }}
        onChange={(tags) => set({ tags })}
      />
      {listed.map((tag) => {
        const parts = partsOf(tag);
        return <Button key={tag} variant="light" size="compact-sm" style={{ alignSelf: 'start' }} maw="100%" onClick={() => set({ tags: [...new Set(values.tags.flatMap((one) => (one === tag ? parts : one)))] })}>Make {formatNumber(parts.length)} tags of “{tag}”</Button>;
      })}
    </Stack>
  );
}

const partsOf = (tag: string): readonly string[] => tag.split(',').map((one) => trimmed(one)).filter((one) => one !== '');
