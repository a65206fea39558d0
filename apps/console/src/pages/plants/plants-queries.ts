import type { components, Shop } from '@plant-shop/client';
import { type InfiniteData, keepPreviousData, useInfiniteQuery, type UseInfiniteQueryResult, useQuery, type UseQueryResult } from '@tanstack/react-query';
import { useShop } from '../../auth/session.js';
import { nextCursor } from '../../ui/next-cursor.js';
import { type Plant, type PlantFilter, queryOf } from './plant-filter.js';

const pageSize = 200;

interface PlantPart {
  readonly plants: readonly Plant[];
  readonly next: string | undefined;
}

export function usePlantList(filter: PlantFilter): UseInfiniteQueryResult<InfiniteData<PlantPart>> {
  const shop = useShop();
  return useInfiniteQuery({
    queryKey: ['plants', 'search', filter],
    queryFn: async ({ signal, pageParam }): Promise<PlantPart> => {
      const query = { ...queryOf(filter), ...(filter.sort && { sort: filter.sort }), limit: pageSize, ...(pageParam !== undefined && { cursor: pageParam }) };
      const { data, response } = await shop.GET('/plant/search', { params: { query }, signal });
      return { plants: data, next: nextCursor(response) };
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
    placeholderData: keepPreviousData,
  });
}

type Facets = components['schemas']['PlantFacets'];

/** Counts of plants by status, tag and category, among those that match the filter. */
export function usePlantFacets(filter: PlantFilter): UseQueryResult<Facets> {
  const shop = useShop();
  return useQuery({
    queryKey: ['plants', 'facets', queryOf(filter)],
    queryFn: async ({ signal }) => (await shop.GET('/plant/facets', { params: { query: queryOf(filter) }, signal })).data,
    placeholderData: keepPreviousData,
  });
}

/** A value with its version (ETag), for conditional requests. */
export interface Versioned<Value> {
  readonly value: Value;
  readonly etag: string;
}

interface VersionedQuery<Value> {
  readonly queryKey: readonly unknown[];
  readonly queryFn: (context: { readonly signal: AbortSignal }) => Promise<Versioned<Value>>;
}

export const plantQuery = (shop: Shop, plantId: number): VersionedQuery<Plant> => ({
  queryKey: ['plant', plantId],
  queryFn: async ({ signal }) => versionOf(await shop.GET('/plant/{plantId}', { params: { path: { plantId } }, signal })),
});

export type Stock = components['schemas']['Stock'];

export const stockQuery = (shop: Shop, plantId: number): VersionedQuery<Stock> => ({
  queryKey: ['plant', plantId, 'stock'],
  queryFn: async ({ signal }) => versionOf(await shop.GET('/store/inventory/{plantId}', { params: { path: { plantId } }, signal })),
});

/** Returns the response's value with its ETag. */
export const versionOf = <Value>({ data, response }: { readonly data: Value; readonly response: Response }): Versioned<Value> => ({ value: data, etag: response.headers.get('etag') ?? '*' });
