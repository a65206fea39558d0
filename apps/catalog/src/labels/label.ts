import type { Category, Tag } from '@plant-shop/contracts/catalog';

/** A name that a tag or a category goes by. */
export interface Label {
  readonly kind: 'category' | 'tag';
  readonly name: string;
}

/** Ids of labels by `labelKey`. */
export type LabelIds = ReadonlyMap<string, number>;

export interface Labelled {
  readonly category?: Category;
  readonly tags?: readonly Tag[];
}

// What clients choose may contain any character, the kind does not.
export const labelKey = ({ kind, name }: Label): string => `${kind}:${name}`;

/** The labels that came without an id (0 means the same), each once. */
export function labelsToFill({ category, tags = [] }: Labelled): Label[] {
  const labels: Label[] = tags.filter((tag) => !tag.id).map(({ name }) => ({ kind: 'tag', name }));
  if (category?.name !== undefined && !category.id) labels.push({ kind: 'category', name: category.name });
  return [...new Map(labels.map((label) => [labelKey(label), label])).values()];
}
