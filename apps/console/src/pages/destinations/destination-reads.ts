import type { components, Shop } from '@plant-shop/client';
import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { useShop } from '../../auth/session.js';

export type Destination = components['schemas']['Destination'];

/** A destination with its ETag, for conditional requests. */
export interface SeenDestination {
  readonly destination: Destination;
  readonly etag: string | undefined;
}

/** How far one is behind changes all the time. */
const destinationsMs = 3_000;
/** More than a shop may have. */
const all = 100;

export function useDestinations(): UseQueryResult<readonly Destination[]> {
  const shop = useShop();
  return useQuery({ queryKey: ['destinations'], refetchInterval: destinationsMs, queryFn: async ({ signal }) => (await shop.GET('/destinations', { params: { query: { limit: all } }, signal })).data });
}

export function useDestination(destinationId: string): UseQueryResult<SeenDestination> {
  const shop = useShop();
  return useQuery({ queryKey: ['destination', destinationId], refetchInterval: destinationsMs, queryFn: ({ signal }) => readDestination(shop, destinationId, signal) });
}

export async function readDestination(shop: Shop, destinationId: string, signal?: AbortSignal): Promise<SeenDestination> {
  const { data, response } = await shop.GET('/destinations/{destinationId}', { params: { path: { destinationId } }, ...(signal && { signal }) });
  return { destination: data, etag: response.headers.get('etag') ?? undefined };
}
