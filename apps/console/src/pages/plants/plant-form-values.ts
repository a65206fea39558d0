import { trimmed } from '../../ui/numbers.js';
import type { Plant, PlantStatus } from './plant-filter.js';

/** Values of a plant's form. Images and stock are edited elsewhere. */
export interface PlantFormValues {
  readonly name: string;
  readonly status: PlantStatus;
  readonly category: string;
  readonly tags: readonly string[];
}

/** Units that a plant's stock can have. */
export const mostUnits = 1_000_000_000;

export const emptyForm: PlantFormValues = { name: '', status: 'available', category: '', tags: [] };

export const formOf = ({ name, status, category, tags }: Plant): PlantFormValues => ({ name, status, category: category?.name ?? '', tags: tags.map((tag) => tag.name) });

export const sameForm = (one: PlantFormValues, other: PlantFormValues): boolean => differences(one, other).length === 0;

export const formLabels = { name: 'Name', status: 'Status', category: 'Category', tags: 'Tags' } as const satisfies Record<keyof PlantFormValues, string>;

/** Returns the fields in which two forms differ. */
export const differences = (one: PlantFormValues, other: PlantFormValues): readonly (keyof PlantFormValues)[] =>
  (Object.keys(formLabels) as (keyof PlantFormValues)[]).filter((field) => JSON.stringify(one[field]) !== JSON.stringify(other[field]));

interface Labelled {
  readonly name: string;
  readonly status: PlantStatus;
  readonly category?: { readonly id?: number; readonly name?: string };
  readonly tags: { readonly id?: number; readonly name: string }[];
}

/** Returns the request's plant. Existing tags and categories keep their ids. */
export function plantOfForm({ name, status, category, tags }: PlantFormValues, before?: Plant): Labelled {
  const hasCategory = trimmed(category) !== '';
  return {
    name: trimmed(name),
    status,
    // A category may have an id without a name.
    ...(hasCategory ? { category: before?.category?.name === category ? before.category : { name: trimmed(category) } } : before?.category && before.category.name === undefined && { category: before.category }),
    tags: tags.map((tag) => before?.tags.find((one) => one.name === tag) ?? { name: tag }),
  };
}
