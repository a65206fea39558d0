import { type PlantFilter, type PlantStatus, readPlantFilter } from './plant-filter.js';

// What the pages do with the search. The first load has only what reads it from the URL.

/** Returns a changed copy without empty values. */
export const changedFilter = (filter: PlantFilter, changed: { readonly [Part in keyof PlantFilter]?: PlantFilter[Part] | undefined }): PlantFilter => readPlantFilter({ ...filter, ...changed });

export const isFiltered = ({ q, status, tags, category, stock }: PlantFilter): boolean => [q, status, tags, category, stock].some((part) => part !== undefined);

/** The order that the list has. */
export const sortOf = ({ q, stock, sort }: PlantFilter): NonNullable<PlantFilter['sort']> => {
  if (sort !== undefined && (sort !== 'stock' || stock !== undefined)) return sort;
  if (stock !== undefined) return 'stock';
  return q === undefined ? 'newest' : 'relevance';
};

/** Returns the API's query parameters. */
export const queryOf = ({ q, status, tags, category }: PlantFilter): { q?: string; status?: PlantStatus[]; tags?: string[]; category?: string } => ({
  ...(q !== undefined && { q }),
  ...(status && { status: [...status] }),
  ...(tags && { tags: [...tags] }),
  ...(category !== undefined && { category }),
});
