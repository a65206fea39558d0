import type { DeliveryState } from './webhook-reads.js';

export const deliveryStates: readonly DeliveryState[] = ['pending', 'held', 'delivered', 'failed'];

/** What the address says about the list of deliveries. */
export interface DeliveriesSearch {
  readonly state?: DeliveryState;
}

export function deliveriesSearch({ state: asked }: Record<string, unknown>): DeliveriesSearch {
  const state = deliveryStates.find((one) => one === asked);
  return state ? { state } : {};
}
