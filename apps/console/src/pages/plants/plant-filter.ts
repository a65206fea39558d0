import type { components } from '@plant-shop/client';
import { Cell } from '../../shop/cell.js';
import { searchText } from '../../ui/page-search.js';

export type Plant = components['schemas']['Plant'];
export type PlantStatus = Plant['status'];

export const plantStatuses = ['available', 'pending', 'sold'] as const satisfies readonly PlantStatus[];
export const plantSorts = ['relevance', 'name', 'newest', 'stock'] as const;
export const stockLevels = ['low', 'out', 'uncounted'] as const;

/** The search, kept in the URL. */
export interface PlantFilter {
  readonly q?: string;
  readonly status?: readonly PlantStatus[];
  readonly tags?: readonly string[];
  readonly category?: string;
  /** Only plants for sale that are out of stock, or low on it too; or those whose units nobody has counted. */
  readonly stock?: (typeof stockLevels)[number];
  readonly sort?: (typeof plantSorts)[number];
}

/** How the list was left: links back to it show the same plants. */
export const leftPlants = new Cell<PlantFilter>({});

/** Reads the search from a URL, ignoring invalid values. */
export function readPlantFilter(search: Readonly<Record<string, unknown>>): PlantFilter {
  const q = searchText(search['q']);
  const category = searchText(search['category']);
  const status = listOf(search['status']).flatMap((one) => plantStatuses.filter((known) => known === one));
  const tags = listOf(search['tags']).flatMap((one) => searchText(one) ?? []).slice(0, 64);
  const stock = stockLevels.find((known) => known === search['stock']);
  const sort = plantSorts.find((known) => known === search['sort']);
  return {
    ...(q !== undefined && { q }),
    ...(status.length > 0 && { status }),
    ...(tags.length > 0 && { tags }),
    ...(category !== undefined && { category }),
    ...(stock !== undefined && { stock }),
    ...(sort !== undefined && { sort }),
  };
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : value === undefined ? [] : [value]);
