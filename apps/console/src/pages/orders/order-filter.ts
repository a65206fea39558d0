import { Cell } from '../../shop/cell.js';
import type { OrderStatus } from '../../shop/day.js';
import { trimmed } from '../../ui/numbers.js';
import { searchText } from '../../ui/page-search.js';

export const orderTabs = ['to-ship', 'awaiting', 'shipped', 'refund', 'all'] as const;
export type OrderTab = (typeof orderTabs)[number];

export const orderStatuses = ['placed', 'approved', 'delivered', 'cancelled'] as const satisfies readonly OrderStatus[];

/** The list's tab and filter, as in the URL: `?tab=all&status=placed,approved&plantId=7`. */
export interface OrderFilter {
  /** Absent: all orders, or without any filter the work to do. */
  readonly tab?: OrderTab;
  /** Only of the tab with all orders. */
  readonly status?: string;
  /** Finds orders by numbers, tracking number or customer. */
  readonly q?: string;
  readonly plantId?: number;
  readonly owner?: string;
  /** Times in UTC, so that a link means the same in every time zone. */
  readonly from?: string;
  readonly before?: string;
  /** By time of placing, if it is not the tab's own order. */
  readonly sort?: 'placedAt' | '-placedAt';
}

/** How the list was left: links back to it show the same tab and filter. */
export const leftOrders = new Cell<OrderFilter>({});

/** Omits invalid values. */
export function toOrderFilter(search: Record<string, unknown>): OrderFilter {
  const plantId = Number(search['plantId']);
  const text = (name: string): string | undefined => trimmed(searchText(search[name]) ?? '') || undefined;
  const owner = text('owner');
  // As people write an order's number.
  const q = text('q')?.replace(/^(?:order)? *#? *(?=\d+$)/i, '');
  const [from, before] = [timeOf(text('from')), timeOf(text('before'))];
  const tab = orderTabs.find((one) => one === search['tab']);
  const status = statusesOf(text('status')).join(',');
  const { sort } = search;
  return {
    ...(tab && { tab }),
    ...(status !== '' && (tab ?? 'all') === 'all' && { status }),
    ...(q !== undefined && q !== '' && { q }),
    ...(Number.isSafeInteger(plantId) && plantId > 0 && { plantId }),
    ...(owner !== undefined && owner !== '' && { owner }),
    ...(from !== undefined && { from }),
    ...(before !== undefined && { before }),
    ...((sort === 'placedAt' || sort === '-placedAt') && { sort }),
  };
}

/** A time without a zone is in UTC: read in the reader's zone, the same link would mean another time elsewhere. */
function timeOf(text = ''): string | undefined {
  // Addresses write a space for a plus sign.
  const [, day = '', minute = '00:00', seconds = ':00', zone = 'Z'] = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d)(:\d\d(?:\.\d+)?)?(Z|[-+]\d\d:\d\d)?)?$/.exec(text.replace(' ', '+')) ?? [];
  const at = Date.parse(`${day}T${minute}${seconds}${zone}`);
  return Number.isNaN(at) ? undefined : new Date(at).toISOString();
}

export const statusesOf = (text = ''): OrderStatus[] => orderStatuses.filter((one) => text.split(',').includes(one));
