import type { Category, Tag } from '@plant-shop/contracts/catalog';

/** The name of a tag or a category. */
export interface Label {
  readonly kind: 'category' | 'tag';
  readonly name: string;
}

/** Label ids by `labelKey`. */
export type LabelIds = ReadonlyMap<string, number>;

export interface Labelled {
  readonly category?: Category;
  readonly tags?: readonly Tag[];
}

// Unambiguous: names may contain any character, but kinds contain no colon.
export const labelKey = ({ kind, name }: Label): string => `${kind}:${name}`;

/** Returns the distinct labels that came without an id (or with 0). */
export function labelsToFill({ category, tags = [] }: Labelled): Label[] {
  const labels: Label[] = tags.filter((tag) => !tag.id).map(({ name }) => ({ kind: 'tag', name }));
  if (category?.name !== undefined && !category.id) labels.push({ kind: 'category', name: category.name });
  return [...new Map(labels.map((label) => [labelKey(label), label])).values()];
}
