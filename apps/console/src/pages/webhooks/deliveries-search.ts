import type { DeliveryState } from './webhook-reads.js';

export const deliveryStates: readonly DeliveryState[] = ['pending', 'held', 'delivered', 'failed'];

/** The list's filter, kept in the URL. */
export interface DeliveriesSearch {
  readonly state?: DeliveryState;
}

export function deliveriesSearch({ state: asked }: Record<string, unknown>): DeliveriesSearch {
  const state = deliveryStates.find((one) => one === asked);
  return state ? { state } : {};
}
