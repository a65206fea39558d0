import { type OrderStatus, orderStatuses } from '@plant-shop/contracts/store';
import type { PageBounds } from '@plant-shop/platform/paging';
import type { Transaction } from '@plant-shop/platform/postgres/database';
import type { OrderState } from './order.js';
import { orderColumns } from './orders.repository.js';

/** Conditions that all listed orders meet; an absent one does not restrict. */
export interface OrderFilter {
  readonly ownerId?: string | undefined;
  readonly plantId?: number | undefined;
  readonly status?: readonly OrderStatus[] | undefined;
  /** Inclusive. */
  readonly placedFrom?: string | undefined;
  /** Exclusive. */
  readonly placedBefore?: string | undefined;
}

/** Longer than any transaction that places orders takes. */
const longestPlacing = `interval '5 minutes'`;

// `placed_at` is the start of the placing transaction; `position` is drawn during it. Times therefore bound positions, and a list
// of last year starts there instead of skipping everything that came later.
const fromPosition = `(SELECT position FROM orders WHERE placed_at < $::timestamptz - ${longestPlacing} ORDER BY placed_at DESC LIMIT 1)`;
const beforePosition = `(SELECT position FROM orders WHERE placed_at >= $::timestamptz + ${longestPlacing} ORDER BY placed_at LIMIT 1)`;

/**
 * Lists orders newest first, one more than the page holds. Reads each status from an index in list order, only as far as the page
 * needs. Rejected: one scan of the owner's orders with a status filter, which read all 200,000 orders of an owner who had none
 * placed.
 */
export function listOrders(
  db: Pick<Transaction, 'query'>,
  filter: OrderFilter,
  { before, limit }: PageBounds,
): Promise<(OrderState & { position: number })[]> {
  const { ownerId, plantId, placedFrom, placedBefore, status = orderStatuses } = filter;
  const values: unknown[] = [status, before, limit + 1];
  const conditions: string[] = [];
  const bounds: string[] = [];
  const names: string[] = [];
  // `$` in `sql` stands for the parameter that holds `value`.
  const add = (name: string, value: unknown, ...texts: readonly { readonly to: string[]; readonly sql: string }[]): void => {
    if (value === undefined) return;
    values.push(value);
    names.push(name);
    for (const { to, sql } of texts) to.push(sql.replaceAll('$', `$${values.length}`));
  };
  add('owner', ownerId, { to: conditions, sql: 'owner_id = $' });
  add('plant', plantId, { to: conditions, sql: 'plant_id = $' });
  add('from', placedFrom, { to: conditions, sql: 'placed_at >= $' }, { to: bounds, sql: `position > coalesce(${fromPosition}, 0)` });
  add('before', placedBefore, { to: conditions, sql: 'placed_at < $' }, { to: bounds, sql: `position < coalesce(${beforePosition}, ${Number.MAX_SAFE_INTEGER})` });
  const where = ['orders.status = wanted.status', 'position < $2', ...conditions, ...bounds].join(' AND ');
  return db.query(
    {
      name: ['list-orders', ...names].join('-'),
      text: `SELECT listed.* FROM unnest($1::text[]) AS wanted (status) CROSS JOIN LATERAL (
               SELECT ${orderColumns}, position FROM orders WHERE ${where} ORDER BY position DESC LIMIT $3
             ) AS listed ORDER BY position DESC LIMIT $3`,
    },
    values,
  );
}
