import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useMay, useSession, useShop } from '../../auth/session.js';
import { relativeTo } from '../../ui/relative-time.js';
import { counted, formatNumber } from '../../ui/numbers.js';
import { healthOf } from '../webhooks/health.js';

/** Values of a `Stat`. */
interface Counted {
  readonly isOffered: boolean;
  readonly value: string;
  readonly count: number;
  readonly text: string;
  readonly error: unknown;
}

const page = 1_000;
/** Deliveries that show a webhook's health. */
const recent = 100;
const countOf = (length: number): string => (length < page ? formatNumber(length) : `${formatNumber(page)}+`);

/** Updated live by the event `refund.due`. */
export function useRefundsDue(): Counted {
  const shop = useShop();
  const { live } = useSession();
  const isOffered = useMay('write:payments');
  const { data, error, refetch } = useQuery({
    queryKey: ['refunds', { status: 'due' }],
    queryFn: async ({ signal }) => (await shop.GET('/store/refund', { params: { query: { status: 'due', limit: page } }, signal })).data,
    enabled: isOffered,
    refetchInterval: 60_000,
  });
  useEffect(() => (isOffered ? live.subscribe((message) => void (message.event === 'refund.due' && refetch())) : undefined), [isOffered, live, refetch]);
  const oldest = data?.map(({ dueAt }) => Date.parse(dueAt)).sort((a, b) => a - b)[0];
  return {
    isOffered,
    value: data ? countOf(data.length) : '…',
    count: data?.length ?? 0,
    text: oldest === undefined ? 'none' : `the oldest: ${relativeTo(oldest, Date.now())}`,
    error,
  };
}

/** The user's own webhooks that the shop disabled, or whose last attempt failed: the same rule as on the Webhooks page. */
export function useFailingWebhooks(): Counted {
  const shop = useShop();
  const isOffered = useMay('webhooks');
  const { data, error } = useQuery({
    queryKey: ['webhooks', 'failing'],
    queryFn: async ({ signal }) => {
      const { data: webhooks } = await shop.GET('/webhooks', { params: { query: { limit: 100 } }, signal });
      const failing = await Promise.all(
        webhooks.map(async ({ id, state, disabledReason }) => {
          if (state === 'disabled') return disabledReason !== undefined;
          const { data: deliveries } = await shop.GET('/webhooks/{webhookId}/deliveries', { params: { path: { webhookId: id }, query: { limit: recent } }, signal });
          return healthOf({ state }, deliveries).label === 'Failing';
        }),
      );
      return { failing: failing.filter(Boolean).length, all: webhooks.length };
    },
    enabled: isOffered,
    refetchInterval: 15_000,
  });
  return {
    isOffered,
    value: data ? formatNumber(data.failing) : '…',
    count: data?.failing ?? 0,
    text: data ? textOf(data) : '',
    error,
  };
}

function textOf({ failing, all }: { readonly failing: number; readonly all: number }): string {
  if (all === 0) return 'you have no webhooks';
  return failing === 0 ? `of ${counted(all, 'webhook')}` : 'no answer, an error, or disabled';
}
