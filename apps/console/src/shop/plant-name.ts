import { type Shop, ShopProblem } from '@plant-shop/client';
import { useQuery } from '@tanstack/react-query';
import { useShop } from '../auth/session.js';

const freshMs = 60_000;

interface NameQuery {
  readonly queryKey: readonly unknown[];
  readonly staleTime: number;
  readonly queryFn: (context: { readonly signal: AbortSignal }) => Promise<string>;
}

export const plantNameQuery = (shop: Shop, plantId: number): NameQuery => ({
  queryKey: ['plant', plantId, 'name'],
  staleTime: freshMs,
  queryFn: async ({ signal }) => (await shop.GET('/plant/{plantId}', { params: { path: { plantId } }, signal })).data.name,
});

/** Returns a plant's name; until it is loaded, or if the plant is deleted, its number. */
export function usePlantName(plantId: number): string {
  const { data, error } = useQuery(plantNameQuery(useShop(), plantId));
  return data ?? (error instanceof ShopProblem && error.status === 404 ? `plant ${plantId} (deleted)` : `plant ${plantId}`);
}
