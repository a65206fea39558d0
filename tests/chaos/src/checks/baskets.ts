import type { FinalOrder, History } from '../history.js';
import type { Violation } from './violation.js';

/**
 * A basket has an order for each line, exists once for its external id, and its orders are paid and cancelled together. Its single orders
 * are never paid or cancelled by the load.
 */
export function checkBaskets({ calls, snapshots, final }: History): Violation[] {
  const lines = new Map(calls.flatMap(({ request }) => (request.kind === 'place' && request.basket ? [[request.basket.mark, request.basket.lines]] : [])));
  const found = (mark: string, what: string): Violation => ({ rule: 'baskets', what: `basket ${mark} ${what}` });
  const byMark = Map.groupBy(final.orders.filter(({ basket }) => basket), ({ basket }) => basket?.mark ?? '');
  const payments = Map.groupBy(final.payments, ({ orderId }) => orderId);
  return [
    ...[...byMark].flatMap(([mark, orders]): Violation[] => {
      const count = lines.get(mark);
      if (count === undefined) return [found(mark, 'was never requested')];
      if (new Set(orders.map(({ basket }) => basket?.id)).size > 1) return [found(mark, 'exists twice')];
      if (orders.length !== count) return [found(mark, `has ${orders.length} orders for ${count} lines`)];
      const paid = new Set(orders.map(({ id }) => (payments.get(id) ?? []).map(({ reference, state }) => `${reference} ${state}`).sort().join()));
      return [
        ...(['approved', 'cancelled'] as const).filter((status) => isSplit(orders, status)).map((status) => found(mark, `was ${status} in part, or not at once`)),
        ...(paid.size > 1 ? [found(mark, `has orders with different payments: ${[...paid].join(' / ')}`)] : []),
      ];
    }),
    ...snapshots.flatMap(({ at, splitBaskets }) =>
      splitBaskets.map((id): Violation => ({ rule: 'baskets', what: `at ${(at / 1_000).toFixed(2)} s only some orders of basket ${id} were placed` }))),
  ];
}

/** Whether some orders became this status and others did not, or at another time. */
const isSplit = (orders: readonly FinalOrder[], status: 'approved' | 'cancelled'): boolean =>
  new Set(orders.map(({ transitions }) => transitions.find(({ newStatus, previousStatus }) => newStatus === status && previousStatus === 'placed')?.at)).size > 1;
