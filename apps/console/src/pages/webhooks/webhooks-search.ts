import { Cell } from '../../shop/cell.js';
import { searchText } from '../../ui/page-search.js';
import type { DeliveryState } from './webhook-reads.js';

/** The filters of the list of webhooks, kept in the URL. */
export interface WebhooksSearch {
  /** Username of the owner. */
  readonly owner?: string;
  readonly failing?: true;
}

export function webhooksSearch({ owner: asked, failing }: Record<string, unknown>): WebhooksSearch {
  const owner = searchText(asked);
  return { ...(owner !== undefined && owner !== '*' && { owner }), ...(failing === true && { failing }) };
}

/** The list as it was left last, to go back to. */
export const leftWebhooks = new Cell<WebhooksSearch>({});

export const deliveryStates: readonly DeliveryState[] = ['pending', 'held', 'delivered', 'failed'];

/** The filter of a webhook's deliveries, kept in the URL. */
export interface DeliveriesSearch {
  readonly state?: DeliveryState;
}

export function deliveriesSearch({ state: asked }: Record<string, unknown>): DeliveriesSearch {
  const state = deliveryStates.find((one) => one === asked);
  return state ? { state } : {};
}
