import type { ListQuery } from '@plant-shop/client';
import type { Order, OrderStatus } from '../../shop/day.js';

export const orderStatuses = ['placed', 'approved', 'delivered', 'cancelled'] as const satisfies readonly OrderStatus[];

/** The list's filter, as in the URL: `?status=placed,approved&plantId=7`. */
export interface OrderFilter {
  readonly status?: string;
  readonly shipped?: boolean;
  readonly refund?: 'due' | 'completed';
  readonly plantId?: number;
  readonly owner?: string;
  /** Times in UTC, so that a link means the same in every time zone. */
  readonly from?: string;
  readonly before?: string;
  /** Oldest first. */
  readonly sort?: 'placedAt';
}

/** Omits invalid values. */
export function toOrderFilter(search: Record<string, unknown>): OrderFilter {
  const plantId = Number(search['plantId']);
  const text = (name: string): string | undefined => {
    const value = search[name];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
  };
  const owner = text('owner');
  const [from, before] = [timeOf(text('from')), timeOf(text('before'))];
  const status = statusesOf(text('status')).join(',');
  const { shipped, refund, sort } = search;
  return {
    ...(status !== '' && { status }),
    ...(typeof shipped === 'boolean' && { shipped }),
    ...((refund === 'due' || refund === 'completed') && { refund }),
    ...(Number.isSafeInteger(plantId) && plantId > 0 && { plantId }),
    ...(owner !== undefined && owner !== '' && { owner }),
    ...(from !== undefined && { from }),
    ...(before !== undefined && { before }),
    ...(sort === 'placedAt' && { sort }),
  };
}

function timeOf(text: string | undefined): string | undefined {
  const at = Date.parse(text ?? '');
  return Number.isNaN(at) ? undefined : new Date(at).toISOString();
}

export const statusesOf = (text = ''): OrderStatus[] => orderStatuses.filter((one) => text.split(',').includes(one));

/** Returns the API's query parameters. @param seesAll whether the user may read all orders */
export function toQuery({ status, shipped, refund, plantId, owner, from, before, sort }: OrderFilter, seesAll: boolean): ListQuery<'/store/order'> {
  const statuses = statusesOf(status);
  return {
    ...(seesAll && { owner: owner ?? '*' }),
    ...(statuses.length > 0 && { status: statuses }),
    ...(shipped !== undefined && { shipped }),
    ...(refund && { refund }),
    ...(plantId !== undefined && { plantId }),
    ...(from !== undefined && { placedFrom: from }),
    ...(before !== undefined && { placedBefore: before }),
    ...(sort && { sort }),
  };
}

/** Whether an order may match, as far as it is known: events contain neither owner nor time. */
export function mayMatch({ status, shipped, refund, plantId }: OrderFilter, order: { readonly plantId: number; readonly status?: OrderStatus; readonly isShipped?: boolean; readonly refund?: Order['refund'] }): boolean {
  const statuses = statusesOf(status);
  return (
    (statuses.length === 0 || order.status === undefined || statuses.includes(order.status)) &&
    (shipped === undefined || order.isShipped === undefined || order.isShipped === shipped) &&
    (refund === undefined || !('refund' in order) || order.refund === refund) &&
    (plantId === undefined || plantId === order.plantId)
  );
}
