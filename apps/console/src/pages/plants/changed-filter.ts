import { mostSearched } from '../../ui/page-search.js';
import { type Plant, type PlantFilter, type PlantStatus, readPlantFilter } from './plant-filter.js';

// What the pages do with the search. The first load has only what reads it from the URL.

/** Returns a changed copy without empty values. */
export const changedFilter = (filter: PlantFilter, changed: { readonly [Part in keyof PlantFilter]?: PlantFilter[Part] | undefined }): PlantFilter => readPlantFilter({ ...filter, ...changed });

export const isFiltered = ({ q, status, tags, category, stock }: PlantFilter): boolean => [q, status, tags, category, stock].some((part) => part !== undefined);

/** The order that the list has. */
export const sortOf = ({ q, stock, sort }: PlantFilter): NonNullable<PlantFilter['sort']> => {
  if (stock === 'uncounted') return 'newest';
  if (sort !== undefined && (sort !== 'stock' || stock !== undefined)) return sort;
  if (stock !== undefined) return 'stock';
  return q === undefined ? 'newest' : 'relevance';
};

/** Returns the API's query parameters. */
export const queryOf = ({ q, status, tags, category }: PlantFilter): { q?: string; status?: PlantStatus[]; tags?: string[]; category?: string } => ({
  ...(q !== undefined && { q: q.slice(0, mostSearched) }),
  ...(status && { status: [...status] }),
  ...(tags && { tags: [...tags] }),
  ...(category !== undefined && { category }),
});

const wordsOf = (text: string): readonly string[] => text.toLowerCase().split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '');

/** Whether a plant matches the search, by the rules of `GET /v3/plant/search`: the shop cannot search among plants that are not counted. */
export function matchesSearch({ name, status, category, tags }: Pick<Plant, 'name' | 'status' | 'category' | 'tags'>, filter: PlantFilter): boolean {
  const known = wordsOf([name, category?.name ?? '', ...tags.map((tag) => tag.name)].join(' '));
  return (
    wordsOf(filter.q ?? '').every((word) => known.some((one) => one.startsWith(word))) &&
    (filter.status?.includes(status) ?? true) &&
    (filter.category === undefined || filter.category === category?.name) &&
    (filter.tags?.some((wanted) => tags.some((tag) => tag.name === wanted)) ?? true)
  );
}
