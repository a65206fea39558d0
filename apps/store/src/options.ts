import type { FeedRetentionOptions } from '@plant-shop/events/feed-retention';

/** The settings as the store's modules use them. */
export interface StoreOptions {
  readonly initialStock: number;
  readonly placingLanes: number;
  /** `CheckoutPolicy` of orders/order.ts. */
  readonly checkout: {
    readonly provider: 'external' | 'simulated';
    readonly orderTtlMs: number;
    readonly approvalDelayMs: number;
    readonly deliveryDelayMs: number;
  };
  readonly feed: FeedRetentionOptions;
}

export const STORE_OPTIONS = Symbol('store options');
