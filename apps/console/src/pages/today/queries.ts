import type { components } from '@plant-shop/client';
import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useMay, useSession, useShop } from '../../auth/session.js';
import { dayMs, type Order, type OrderStatus } from '../../shop/day.js';
import { useRefetchedLive } from '../../shop/use-refetched-live.js';
import { nextCursor } from '../../ui/next-cursor.js';
import { formatNumber } from '../../ui/numbers.js';

/** Values of a `Stat`. */
interface Counted {
  readonly isOffered: boolean;
  readonly value: string;
  readonly count: number;
  readonly text: string;
  readonly error: unknown;
}

/** Orders that wait longest, as many as the page shows. */
const mostWaiting = 5;
const openMs = 1_000;
const closedMs = 3_000;

type Counts = components['schemas']['OrderCounts']['counts'];
const sumOf = (counts: Counts, isMeant: (one: Counts[number]) => boolean): number => counts.filter(isMeant).reduce((sum, { orders }) => sum + orders, 0);

export interface OpenOrders {
  readonly placed: number;
  readonly approved: number;
  readonly toShip: number;
  /** Paid orders that are not shipped, the oldest first. */
  readonly waiting: readonly Order[];
}

/** The open orders, counted by the shop. */
export function useOpenOrders(): UseQueryResult<OpenOrders> {
  const shop = useShop();
  const owner = useMay('read:orders') ? { owner: '*' } : {};
  return useRefetchedLive(
    useQuery({
      queryKey: ['orders', 'open', owner],
      refetchInterval: 30_000,
      queryFn: async ({ signal }) => {
        const [{ data }, { data: waiting }] = await Promise.all([
          shop.GET('/store/order/counts', { params: { query: { ...owner, status: ['placed', 'approved'] } }, signal }),
          shop.GET('/store/order', { params: { query: { ...owner, status: ['approved'], shipped: false, sort: 'placedAt', limit: mostWaiting } }, signal }),
        ]);
        const { counts } = data;
        return {
          placed: sumOf(counts, ({ status }) => status === 'placed'),
          approved: sumOf(counts, ({ status }) => status === 'approved'),
          toShip: sumOf(counts, ({ status, shipped }) => status === 'approved' && !shipped),
          waiting,
        };
      },
    }),
    openMs,
  );
}

export interface ClosedOrders extends Readonly<Record<Extract<OrderStatus, 'delivered' | 'cancelled'>, number>> {
  /** False: there may be more. */
  readonly isComplete: boolean;
}

/** Closed orders that were placed in the last 24 hours. */
export function useClosedOrders(): UseQueryResult<ClosedOrders> {
  const shop = useShop();
  const owner = useMay('read:orders') ? { owner: '*' } : {};
  return useRefetchedLive(
    useQuery({
      queryKey: ['orders', 'closed', owner],
      refetchInterval: 30_000,
      queryFn: async ({ signal }) => {
        const query = { ...owner, status: ['delivered' as const, 'cancelled' as const], placedFrom: new Date(Date.now() - dayMs).toISOString() };
        const { counts, complete } = (await shop.GET('/store/order/counts', { params: { query }, signal })).data;
        const of = (wanted: OrderStatus): number => sumOf(counts, ({ status }) => status === wanted);
        return { delivered: of('delivered'), cancelled: of('cancelled'), isComplete: complete };
      },
    }),
    closedMs,
  );
}

/** Updated live by the event `refund.due`. */
export function useRefundsDue(): Counted {
  const shop = useShop();
  const { live } = useSession();
  const [mayPay, seesAll] = [useMay('write:payments'), useMay('read:orders')];
  const isOffered = mayPay && seesAll;
  const { data, error, refetch } = useQuery({
    queryKey: ['refunds', { status: 'due' }],
    queryFn: async ({ signal }) => {
      const counted = await shop.GET('/store/order/counts', { params: { query: { owner: '*', refund: 'due' } }, signal });
      return sumOf(counted.data.counts, () => true);
    },
    enabled: isOffered,
    // A refund that is made is no event.
    refetchInterval: 5_000,
  });
  useEffect(() => (isOffered ? live.subscribe((message) => void (message.event === 'refund.due' && refetch())) : undefined), [isOffered, live, refetch]);
  return { isOffered, value: valueOf(data, error), count: data ?? 0, text: data === 0 ? 'none' : 'orders whose payment must be returned', error };
}

/** The user's own webhooks, or for staff those of all users, that the shop disabled or whose last attempt failed. */
export function useFailingWebhooks(): Counted {
  const shop = useShop();
  const isOffered = useMay('webhooks');
  const seesAll = useMay('manage:orders');
  const { data, error } = useQuery({
    queryKey: ['webhooks', 'failing', seesAll],
    queryFn: async ({ signal }) => {
      const { data: failing, response } = await shop.GET('/webhooks', { params: { query: { ...(seesAll && { owner: '*' }), failing: true, limit: 1_000 } }, signal });
      return { count: failing.length, isMore: nextCursor(response) !== undefined };
    },
    enabled: isOffered,
    refetchInterval: 15_000,
  });
  return {
    isOffered,
    value: `${valueOf(data?.count, error)}${data?.isMore ? '+' : ''}`,
    count: data?.count ?? 0,
    text: data?.count === 0 ? 'none' : 'no answer or an error',
    error,
  };
}

/** How a number is shown: a missing one is on its way, or failed. */
export const valueOf = (value: number | undefined, error: unknown): string => (value !== undefined ? formatNumber(value) : error === null ? '…' : '–');
