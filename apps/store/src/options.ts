import type { FeedRetentionOptions } from '@plant-shop/events/feed-retention';

/** When orders are paid, expire and are delivered. */
export interface CheckoutPolicy {
  /** `simulated` approves and delivers orders by itself. */
  readonly provider: 'simulated' | 'external';
  readonly orderTtlMs: number;
  readonly approvalDelayMs: number;
  readonly deliveryDelayMs: number;
}

/** The settings as the store's modules use them. */
export interface StoreOptions {
  readonly initialStock: number;
  readonly placingLanes: number;
  readonly checkout: CheckoutPolicy;
  readonly feed: FeedRetentionOptions;
}

export const STORE_OPTIONS = Symbol('store options');
