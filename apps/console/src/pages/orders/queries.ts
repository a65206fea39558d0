import { type UseQueryResult, useQuery, useQueryClient } from '@tanstack/react-query';
import type { components } from '@plant-shop/client';
import { useEffect } from 'react';
import { useMay, usePerson, useSession, useShop } from '../../auth/session.js';
import type { Order } from '../../shop/day.js';
import { nextCursor } from '../../ui/next-cursor.js';
import { deskOf } from './order-desk.js';

type Schemas = components['schemas'];
export type TimelineEntry = Schemas['TimelineEntry'];
export type Refund = Schemas['Refund'];
type Delivery = Schemas['Delivery'];

/** An order, refetched with each of its events. */
export function useOrder(id: number): UseQueryResult<Order> {
  const shop = useShop();
  const client = useQueryClient();
  const session = useSession();
  const { live } = session;
  useEffect(
    () =>
      live.subscribe((message) => {
        if (message.event === 'stream.gap' || message.data.orderId === id) void client.invalidateQueries({ queryKey: ['order', id] });
      }),
    [client, live, id],
  );
  // What the list has is shown until the answer comes.
  return useQuery({ queryKey: ['order', id], placeholderData: () => deskOf(session).orderOf(id), queryFn: async ({ signal }) => (await shop.GET('/store/order/{orderId}', { params: { path: { orderId: id }, query: { expand: ['plant'] } }, signal })).data });
}

const notesMs = 5_000;

export function useTimeline(id: number): UseQueryResult<readonly TimelineEntry[]> {
  const shop = useShop();
  const client = useQueryClient();
  const queryKey = ['order', id, 'timeline'];
  return useQuery({
    queryKey,
    // A colleague's note is no event.
    refetchInterval: notesMs,
    queryFn: async ({ signal }) => {
      const entries: TimelineEntry[] = [];
      let cursor: string | undefined;
      do {
        const query = cursor === undefined ? {} : { cursor };
        const { data, response } = await shop.GET('/store/order/{orderId}/timeline', { params: { path: { orderId: id }, query }, signal });
        entries.push(...data);
        cursor = nextCursor(response);
      } while (cursor !== undefined);
      const known = client.getQueryData<readonly TimelineEntry[]>(queryKey);
      // The order, too: while events stand still, the page would show two states of it.
      if (known && known.length !== entries.length) void client.invalidateQueries({ queryKey: ['order', id], predicate: (query) => query.queryKey[2] !== 'timeline' });
      return entries;
    },
  });
}

/** The refunds that the timeline names. */
export function useRefunds(id: number, timeline: readonly TimelineEntry[] | undefined): UseQueryResult<readonly Refund[]> {
  const shop = useShop();
  const mayRead = useMay('write:payments');
  const ids = [...new Set(timeline?.flatMap(({ refundId }) => refundId ?? []))];
  return useQuery({
    queryKey: ['order', id, 'refunds', ids],
    // An open dialog stays while another refund is read.
    placeholderData: (known, query) => (query?.queryKey[1] === id ? known : undefined),
    queryFn: ({ signal }) => Promise.all(ids.map(async (refundId) => (await shop.GET('/store/refund/{refundId}', { params: { path: { refundId } }, signal })).data)),
    enabled: mayRead && ids.length > 0,
  });
}

const newestDeliveries = 1_000;

const deliveriesMs = 10_000;

export interface OrderDelivery extends Delivery {
  readonly webhook: Pick<Schemas['Webhook'], 'id' | 'name' | 'url' | 'owner'>;
}

/**
 * Deliveries of the order's events to the person's own webhooks, and for staff to its owner's, among the newest of each: the API has no list of one
 * order's.
 */
export function useOrderDeliveries({ id, owner }: Order): UseQueryResult<readonly OrderDelivery[]> {
  const shop = useShop();
  const mayRead = useMay('webhooks');
  const seesOwners = useMay('manage:orders');
  const { username } = usePerson();
  const others = seesOwners && owner !== username ? owner : undefined;
  return useQuery({
    queryKey: ['order', id, 'deliveries', others],
    queryFn: async ({ signal }) => {
      const listed = await Promise.all([{}, ...(others === undefined ? [] : [{ owner: others }])].map((whose) => shop.GET('/webhooks', { params: { query: { ...whose, limit: 100 } }, signal })));
      const webhooks = listed.flatMap(({ data }) => data);
      const lists = await Promise.all(
        webhooks.map(async (webhook) => {
          const { data } = await shop.GET('/webhooks/{webhookId}/deliveries', { params: { path: { webhookId: webhook.id }, query: { limit: newestDeliveries } }, signal });
          return data.filter(({ orderId }) => orderId === id).map((one) => ({ ...one, webhook }));
        }),
      );
      return lists.flat();
    },
    enabled: mayRead,
    // Attempts cause no event.
    refetchInterval: deliveriesMs,
  });
}
