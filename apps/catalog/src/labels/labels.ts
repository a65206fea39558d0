import type { Category, Tag } from '@plant-shop/contracts/catalog';
import type { Reader } from '@plant-shop/platform/postgres/database';

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

/**
 * Returns the labels' ids and assigns missing ones; a label keeps its id for ever. Call it outside the plant's transaction, so that
 * concurrent requests do not wait for each other's labels.
 */
export async function idsOfLabels(db: Reader, labels: readonly Label[]): Promise<LabelIds> {
  if (labels.length === 0) return new Map();
  const known = await findLabels(db, labels);
  const missing = labels.filter((label) => !known.has(labelKey(label)));
  if (missing.length === 0) return known;
  // Sorted: two statements that insert the same new names in different orders would deadlock.
  await db.query(
    `INSERT INTO labels (kind, name) SELECT kind, name FROM unnest($1::text[], $2::text[]) AS t (kind, name)
     ORDER BY kind, name ON CONFLICT DO NOTHING`,
    toColumns(missing),
  );
  return findLabels(db, labels);
}

/** Returns the labels' ids, and 0 for those that have none yet. Assigns none. */
export async function knownIdsOfLabels(db: Reader, labels: readonly Label[]): Promise<LabelIds> {
  const known = labels.length === 0 ? new Map<string, number>() : await findLabels(db, labels);
  return new Map(labels.map((label) => [labelKey(label), known.get(labelKey(label)) ?? 0]));
}

async function findLabels(db: Reader, labels: readonly Label[]): Promise<Map<string, number>> {
  const rows = await db.query<Label & { id: number }>(
    {
      name: 'find-labels',
      text: 'SELECT kind, name, id FROM labels JOIN unnest($1::text[], $2::text[]) AS t (kind, name) USING (kind, name)',
    },
    toColumns(labels),
  );
  return new Map(rows.map((row) => [labelKey(row), row.id]));
}

const toColumns = (labels: readonly Label[]): [string[], string[]] => [
  labels.map(({ kind }) => kind),
  labels.map(({ name }) => name),
];
