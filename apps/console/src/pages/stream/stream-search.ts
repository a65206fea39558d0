import type { OrderEventType } from '../../shop/live-events.js';
import { searchTexts } from '../../ui/page-search.js';
import type { TailFilter } from './tail.js';

export const eventTypes: readonly OrderEventType[] = ['order.placed', 'order.status_changed', 'order.shipped', 'refund.due'];
export const orderStatuses = ['placed', 'approved', 'delivered', 'cancelled'] as const;
type OrderStatus = (typeof orderStatuses)[number];

/** The stream's filters, kept in the URL, so that a link shows the same. */
export interface StreamSearch {
  /** Absent: all. */
  readonly types?: readonly OrderEventType[];
  readonly plant?: number;
  readonly order?: number;
  readonly status?: OrderStatus;
  /** Start: `earliest`, or after a cursor. Absent: now. */
  readonly from?: string;
}

export function streamSearch({ types: asked, plant, order, status: askedStatus, ...search }: Record<string, unknown>): StreamSearch {
  const types = Array.isArray(asked) ? eventTypes.filter((one) => asked.includes(one)) : [];
  const status = orderStatuses.find((one) => one === askedStatus);
  return {
    ...(types.length > 0 && { types }),
    ...(isId(plant) && { plant }),
    ...(isId(order) && { order }),
    ...(status && { status }),
    ...searchTexts(search, 'from'),
  };
}

const isId = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 0;

export const filterOf = ({ types = eventTypes, plant, order, status, from = 'latest' }: StreamSearch): TailFilter => ({
  types,
  cursor: from,
  ...(plant !== undefined && { plantId: plant }),
  ...(order !== undefined && { orderId: order }),
  ...(status && { newStatus: status }),
});
