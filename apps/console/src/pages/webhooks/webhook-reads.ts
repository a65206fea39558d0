import type { components, Shop } from '@plant-shop/client';
import { type InfiniteData, keepPreviousData, useInfiniteQuery, type UseInfiniteQueryResult, useQuery, useQueryClient, type UseQueryResult } from '@tanstack/react-query';
import { useMay, useShop } from '../../auth/session.js';
import { nextCursor } from '../../ui/next-cursor.js';
import { isolated } from '../../ui/numbers.js';
import { recent } from './health.js';
import type { WebhooksSearch } from './webhooks-search.js';

export type Webhook = components['schemas']['Webhook'];
export type Delivery = components['schemas']['Delivery'];
export type DetailedDelivery = components['schemas']['DeliveryDetails'];
export type DeliveryState = Delivery['state'];
export type EventType = Webhook['eventTypes'][number];

/** What people call the webhook: its name, or without one its address. */
export const nameOf = ({ name, url }: Pick<Webhook, 'name' | 'url'>): string => (name === undefined ? url.replace(/^https?:\/\//, '') : isolated(name));

/** The shop names the owner of a webhook that is another user's: it can only be read. */
export const isOwn = ({ owner }: Pick<Webhook, 'owner'>): boolean => owner === undefined;

/** A webhook with its ETag, for conditional requests. */
export interface SeenWebhook {
  readonly webhook: Webhook;
  readonly etag: string | undefined;
}

export interface DeliveriesPage {
  readonly deliveries: readonly Delivery[];
  readonly next: string | undefined;
}

/** Number of pending deliveries, up to one page. */
export interface Waiting {
  readonly count: number;
  readonly isMore: boolean;
}

const endpointsMs = 5_000;
const deliveriesMs = 3_000;
const mostListed = 1_000;
const pageSize = 100;

export interface WebhooksPage {
  readonly webhooks: readonly Webhook[];
  readonly next: string | undefined;
}

/** Those of the user, or for staff those of `owner`, or of all users. */
export function useWebhooks({ owner, failing }: WebhooksSearch): UseInfiniteQueryResult<InfiniteData<WebhooksPage>> {
  const shop = useShop();
  const seesAll = useMay('manage:orders');
  const whose = seesAll ? { owner: owner ?? '*' } : {};
  return useInfiniteQuery({
    queryKey: ['webhooks', { ...whose, failing }],
    refetchInterval: endpointsMs,
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam: cursor, signal }) => {
      const query = { ...whose, limit: pageSize, ...(failing && { failing }), ...(cursor !== undefined && { cursor }) };
      const { data, response } = await shop.GET('/webhooks', { params: { query }, signal });
      return { webhooks: data, next: nextCursor(response) };
    },
    getNextPageParam: ({ next }) => next,
  });
}

export function useWebhook(webhookId: string): UseQueryResult<SeenWebhook> {
  const shop = useShop();
  return useQuery({ queryKey: ['webhook', webhookId], refetchInterval: endpointsMs, queryFn: ({ signal }) => readWebhook(shop, webhookId, signal) });
}

export async function readWebhook(shop: Shop, webhookId: string, signal?: AbortSignal): Promise<SeenWebhook> {
  const { data, response } = await shop.GET('/webhooks/{webhookId}', { params: { path: { webhookId } }, ...(signal && { signal }) });
  return { webhook: data, etag: response.headers.get('etag') ?? undefined };
}

export function useRecentDeliveries(webhookId: string): UseQueryResult<readonly Delivery[]> {
  const shop = useShop();
  return useQuery({
    queryKey: ['webhook', webhookId, 'recent'],
    refetchInterval: deliveriesMs,
    queryFn: async ({ signal }) => (await readDeliveries(shop, webhookId, { limit: recent }, signal)).deliveries,
  });
}

export function usePendingDeliveries(webhookId: string, { enabled }: { readonly enabled: boolean }): UseQueryResult<readonly Delivery[]> {
  const shop = useShop();
  return useQuery({
    queryKey: ['webhook', webhookId, 'pending'],
    refetchInterval: deliveriesMs,
    enabled,
    queryFn: async ({ signal }) => (await readDeliveries(shop, webhookId, { state: 'pending', limit: recent }, signal)).deliveries,
  });
}

export function useDeliveries(webhookId: string, state: DeliveryState | undefined): UseInfiniteQueryResult<InfiniteData<DeliveriesPage>> {
  const shop = useShop();
  const client = useQueryClient();
  return useInfiniteQuery({
    queryKey: ['webhook', webhookId, 'deliveries', { state }],
    refetchInterval: deliveriesMs,
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam: cursor, signal }) => {
      const page = await readDeliveries(shop, webhookId, { limit: recent, ...(state && { state }), ...(cursor !== undefined && { cursor }) }, signal);
      // The health above the list is that of the deliveries in it.
      if (state === undefined && cursor === undefined) client.setQueryData(['webhook', webhookId, 'recent'], page.deliveries);
      return page;
    },
    getNextPageParam: ({ next }) => next,
  });
}

/** What was sent and answered; read again when there is another attempt. */
export function useDelivery(webhookId: string, { id: deliveryId, attempts, state }: Delivery): UseQueryResult<DetailedDelivery> {
  const shop = useShop();
  return useQuery({
    queryKey: ['webhook', webhookId, 'delivery', deliveryId, { attempts: attempts.length, state }],
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => (await shop.GET('/webhooks/{webhookId}/deliveries/{deliveryId}', { params: { path: { webhookId, deliveryId } }, signal })).data,
  });
}

/** The newest deliveries, among them those that were just asked for. */
export function useNewestDeliveries(webhookId: string, { enabled }: { readonly enabled: boolean }): UseQueryResult<readonly Delivery[]> {
  const shop = useShop();
  return useQuery({
    queryKey: ['webhook', webhookId, 'newest'],
    refetchInterval: deliveriesMs,
    enabled,
    queryFn: async ({ signal }) => (await readDeliveries(shop, webhookId, { limit: mostListed }, signal)).deliveries,
  });
}

export function useWaiting(webhookId: string, { enabled }: { readonly enabled: boolean }): UseQueryResult<Waiting> {
  const shop = useShop();
  return useQuery({
    queryKey: ['webhook', webhookId, 'waiting'],
    refetchInterval: deliveriesMs,
    enabled,
    queryFn: async ({ signal }) => {
      const { deliveries, next } = await readDeliveries(shop, webhookId, { state: 'pending', limit: mostListed }, signal);
      return { count: deliveries.length, isMore: next !== undefined };
    },
  });
}

async function readDeliveries(
  shop: Shop,
  webhookId: string,
  query: { readonly limit: number; readonly state?: DeliveryState; readonly cursor?: string },
  signal: AbortSignal,
): Promise<DeliveriesPage> {
  const { data, response } = await shop.GET('/webhooks/{webhookId}/deliveries', { params: { path: { webhookId }, query }, signal });
  return { deliveries: data, next: nextCursor(response) };
}
