import type { ListQuery } from '@plant-shop/client';
import type { Order, OrderStatus } from '../../shop/day.js';

export const orderStatuses = ['placed', 'approved', 'delivered', 'cancelled'] as const satisfies readonly OrderStatus[];

/** The list's filter, as in the URL: `?status=placed,approved&plantId=7`. */
export interface OrderFilter {
  readonly status?: string;
  readonly plantId?: number;
  readonly owner?: string;
  /** Local time, as in the input. */
  readonly from?: string;
  readonly before?: string;
}

/** Omits invalid values. */
export function toOrderFilter(search: Record<string, unknown>): OrderFilter {
  const plantId = Number(search['plantId']);
  const text = (name: string): string | undefined => {
    const value = search[name];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
  };
  const [owner, from, before] = [text('owner'), text('from'), text('before')];
  const status = statusesOf(text('status')).join(',');
  return {
    ...(status !== '' && { status }),
    ...(Number.isSafeInteger(plantId) && plantId > 0 && { plantId }),
    ...(owner !== undefined && owner !== '' && { owner }),
    ...(isTime(from) && { from }),
    ...(isTime(before) && { before }),
  };
}

const isTime = (text: string | undefined): text is string => text !== undefined && !Number.isNaN(Date.parse(text));

export const statusesOf = (text = ''): OrderStatus[] => orderStatuses.filter((one) => text.split(',').includes(one));

/** Returns the API's query parameters. @param seesAll whether the user may read all orders */
export function toQuery({ status, plantId, owner, from, before }: OrderFilter, seesAll: boolean): ListQuery<'/store/order'> {
  const statuses = statusesOf(status);
  return {
    ...(seesAll && { owner: owner ?? '*' }),
    ...(statuses.length > 0 && { status: statuses }),
    ...(plantId !== undefined && { plantId }),
    ...(from !== undefined && { placedFrom: new Date(from).toISOString() }),
    ...(before !== undefined && { placedBefore: new Date(before).toISOString() }),
  };
}

/** Whether an order with this plant and status may match; events do not contain owner and time. */
export function mayMatch({ status, plantId }: OrderFilter, order: Pick<Order, 'plantId' | 'status'>): boolean {
  const statuses = statusesOf(status);
  return (statuses.length === 0 || statuses.includes(order.status)) && (plantId === undefined || plantId === order.plantId);
}
