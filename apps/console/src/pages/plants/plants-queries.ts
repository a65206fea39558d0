import { type components, type Shop, ShopProblem } from '@plant-shop/client';
import { type InfiniteData, keepPreviousData, type QueryClient, useInfiniteQuery, type UseInfiniteQueryResult, useQuery, useQueryClient, type UseQueryResult } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useMay, useSession, useShop } from '../../auth/session.js';
import { nextCursor } from '../../ui/next-cursor.js';
import { wholeNumber } from '../../ui/whole-number.js';
import { matchesSearch, queryOf, sortOf } from './changed-filter.js';
import type { Plant, PlantFilter } from './plant-filter.js';

const pageSize = 200;
/** Plants whose stock is looked at for a page of those that are low. */
const lookedAtSize = 1_000;
/** Plants whose availability is read at once, at most. */
const availabilitySize = 100;
/** Plants on a page of those that nobody has counted, which are read one by one. */
const uncountedSize = 100;
const mostUncounted = 1_000;
/** How often a list is read again: what others change has no event. One that was paged through stays, so that nothing moves. */
export const listMs = 15_000;
/** How long a read counts as new where many plants are read. */
const freshMs = 60_000;

interface PlantPart {
  readonly plants: readonly Plant[];
  /** Free units of those that are low, as far as the shop says them. */
  readonly units: Readonly<Record<number, number>>;
  /** Plants that were looked at for them. */
  readonly lookedAt: number;
  readonly next: string | undefined;
}

export function usePlantList(filter: PlantFilter): UseInfiniteQueryResult<InfiniteData<PlantPart>> {
  const shop = useShop();
  const client = useQueryClient();
  return useInfiniteQuery({
    queryKey: filter.stock === 'uncounted' ? [...uncountedKey, filter] : ['plants', 'search', filter],
    queryFn: async ({ signal, pageParam }): Promise<PlantPart> => {
      if (filter.stock === 'uncounted') return uncountedPlants(shop, client, filter, pageParam, signal);
      const sort = sortOf(filter);
      const limit = filter.stock === undefined ? pageSize : lookedAtSize;
      const query = { ...queryOf(filter), ...(sort !== 'stock' && { sort }), limit, ...(pageParam !== undefined && { cursor: pageParam }) };
      const { data, response } = await shop.GET('/plant/search', { params: { query }, signal });
      const next = nextCursor(response);
      if (filter.stock === undefined) return { plants: data, units: {}, lookedAt: data.length, next };
      const units = await lowUnits(shop, data.map(({ id }) => id), filter.stock, signal);
      return { plants: data.filter(({ id }) => id in units), units, lookedAt: data.length, next };
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state: { data } }) => (data === undefined || data.pages.length > 1 ? false : listMs),
  });
}

/** Returns the free units of those plants that are low on stock; Infinity where the shop does not say them. */
async function lowUnits(shop: Shop, ids: readonly number[], level: 'low' | 'out', signal: AbortSignal): Promise<Record<number, number>> {
  const groups = Array.from({ length: Math.ceil(ids.length / availabilitySize) }, (_, n) => ids.slice(n * availabilitySize, (n + 1) * availabilitySize));
  const found = await Promise.all(groups.map((group) => shop.GET('/plant/availability', { params: { query: { ids: [...group] } }, signal })));
  const low = found.flatMap(({ data }) => data).filter(({ state }) => state === 'out-of-stock' || (level === 'low' && state === 'low-stock'));
  return Object.fromEntries(low.map(({ plantId, units = Number.POSITIVE_INFINITY }) => [plantId, units]));
}

/** Plants whose number or external id the text is: the shop's search by words looks at neither. */
export async function numberedPlants(shop: Shop, text: string, signal: AbortSignal): Promise<readonly Plant[]> {
  const plantId = wholeNumber(text, { min: 1 });
  const [numbered, named] = await Promise.all([
    plantId === undefined ? [] : plantOf(shop, plantId, signal),
    shop.GET('/plant/search', { params: { query: { externalId: text, limit: 1 } }, signal }),
  ]);
  return [...numbered, ...named.data.filter(({ id }) => id !== plantId)];
}

/** @returns none if there is no such plant */
async function plantOf(shop: Shop, plantId: number, signal: AbortSignal): Promise<readonly Plant[]> {
  try {
    return [(await shop.GET('/plant/{plantId}', { params: { path: { plantId } }, signal })).data];
  } catch (error) {
    if (error instanceof ShopProblem && error.status === 404) return [];
    throw error;
  }
}

export function useNumberedPlants(text: string | undefined): readonly Plant[] | undefined {
  const shop = useShop();
  return useQuery({ queryKey: ['plants', 'numbered', text], enabled: text !== undefined, queryFn: ({ signal }) => numberedPlants(shop, text ?? '', signal) }).data;
}

/** With what a count of units changes. */
const uncountedKey = ['inventory', 'uncounted'] as const;

async function uncountedPlants(shop: Shop, client: QueryClient, filter: PlantFilter, cursor: string | undefined, signal: AbortSignal): Promise<PlantPart> {
  const { data, response } = await shop.GET('/store/uncounted', { params: { query: { limit: uncountedSize, ...(cursor !== undefined && { cursor }) } }, signal });
  const read = async (plantId: number): Promise<readonly Plant[]> => {
    try {
      return [(await client.query({ ...plantQuery(shop, plantId), staleTime: freshMs })).value];
    } catch (problem) {
      // Deleted meanwhile.
      if (problem instanceof ShopProblem && problem.status === 404) return [];
      throw problem;
    }
  };
  const plants = (await Promise.all(data.map(({ plantId }) => read(plantId)))).flat();
  return { plants: plants.filter((one) => matchesSearch(one, filter)), units: {}, lookedAt: data.length, next: nextCursor(response) };
}

/** Plants whose units nobody has counted: those with the highest ids, if there are more than the shop returns at once. */
export function useUncounted(): UseQueryResult<{ readonly ids: readonly number[]; readonly isComplete: boolean }> {
  const shop = useShop();
  return useQuery({
    queryKey: uncountedKey,
    queryFn: async ({ signal }) => {
      const { data, response } = await shop.GET('/store/uncounted', { params: { query: { limit: mostUncounted } }, signal });
      return { ids: data.map(({ plantId }) => plantId), isComplete: nextCursor(response) === undefined };
    },
    enabled: useMay('write:stock'),
    staleTime: freshMs,
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
    refetchInterval: listMs,
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

/** How often a plant's page reads its stock: what staff change has no event. */
export const stockMs = 5_000;

export const stockQuery = (shop: Shop, plantId: number): VersionedQuery<Stock> => ({
  queryKey: ['plant', plantId, 'stock'],
  queryFn: async ({ signal }) => versionOf(await shop.GET('/store/inventory/{plantId}', { params: { path: { plantId } }, signal })),
});

/** From so few free units on a plant without a mark of its own is low on stock. */
const usualMark = 10;

export function useLevel(stock: Stock | undefined): PlantFilter['stock'] {
  const { data: uncounted } = useUncounted();
  if (!stock) return undefined;
  const { plantId, free, lowStockAt = usualMark } = stock;
  if (uncounted?.ids.includes(plantId) === true) return 'uncounted';
  if (free === 0) return 'out';
  return free <= lowStockAt ? 'low' : undefined;
}

export type StockEntry = components['schemas']['StockEntry'];

/** Changes of a plant's stock by staff, newest first. */
export const stockChanges = async (shop: Shop, plantId: number, query: { readonly limit: number; readonly cursor?: string }, signal?: AbortSignal): Promise<{ entries: readonly StockEntry[]; next: string | undefined }> => {
  const { data, response } = await shop.GET('/store/inventory/{plantId}/changes', { params: { path: { plantId }, query }, ...(signal && { signal }) });
  return { entries: data, next: nextCursor(response) };
};

/** Refetches the stock that is shown, with each event of the plants' orders. */
export function useLiveStock(): void {
  const { live } = useSession();
  const client = useQueryClient();
  const mayRead = useMay('read:orders');
  useEffect(() => {
    if (!mayRead) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const changed = new Set<number>();
    const unsubscribe = live.subscribe(({ data }) => {
      if (!('plantId' in data)) return;
      changed.add(data.plantId);
      timer ??= setTimeout(() => {
        timer = undefined;
        for (const plantId of changed) void client.invalidateQueries({ queryKey: ['plant', plantId, 'stock'] });
        changed.clear();
      }, 500);
    });
    return () => {
      unsubscribe();
      clearTimeout(timer);
    };
  }, [live, client, mayRead]);
}

/** Returns the response's value with its ETag. */
export const versionOf = <Value>({ data, response }: { readonly data: Value; readonly response: Response }): Versioned<Value> => ({ value: data, etag: response.headers.get('etag') ?? '*' });
