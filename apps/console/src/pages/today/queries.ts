import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useMay, useSession, useShop } from '../../auth/session.js';
import { relativeTo } from '../../ui/relative-time.js';
import { formatNumber } from '../../ui/numbers.js';

/** A number for a `Stat`. */
interface Counted {
  readonly isOffered: boolean;
  readonly value: string;
  readonly count: number;
  readonly text: string;
  readonly error: unknown;
}

const page = 1_000;
const countOf = (length: number): string => (length < page ? formatNumber(length) : `${formatNumber(page)}+`);

/** Live: a refund that becomes due has an event. */
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
    text: oldest === undefined ? 'the shop owes nobody' : `the oldest since ${relativeTo(oldest, Date.now())}`,
    error,
  };
}

/** Of the person's own: disabled by the shop, or with deliveries that failed or are tried again. */
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
          const query = { state: 'pending', limit: 10 } as const;
          const { data: waiting } = await shop.GET('/webhooks/{webhookId}/deliveries', { params: { path: { webhookId: id }, query }, signal });
          return waiting.some(({ attempts }) => attempts.length > 0);
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
    text: data?.all === 0 ? 'you have none' : data?.failing === 0 ? `all ${formatNumber(data.all)} take what they are sent` : 'disabled, or tried again',
    error,
  };
}
