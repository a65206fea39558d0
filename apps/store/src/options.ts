import type { CheckoutPolicy } from './orders/order.js';
import type { FeedRetentionOptions } from '@plant-shop/events/feed-retention';
import type { ServiceConfig } from '@plant-shop/platform/service/service';
import type { StoreConfig } from './config.js';

/** The settings as the store's modules use them. */
export interface StoreOptions {
  readonly initialStock: number;
  readonly placingLanes: number;
  readonly checkout: CheckoutPolicy;
  readonly feed: FeedRetentionOptions;
}

const dayMs = 86_400_000;

export const STORE_OPTIONS = Symbol('store options');

export const toOptions = (config: Omit<StoreConfig, keyof ServiceConfig>): StoreOptions => ({
  initialStock: config.initialStock,
  placingLanes: config.placingLanes,
  checkout: {
    provider: config.paymentProvider,
    orderTtlMs: config.orderTtlMs,
    approvalDelayMs: config.simulatedApprovalDelayMs,
    deliveryDelayMs: config.simulatedDeliveryDelayMs,
  },
  feed: { keepMs: config.feedRetentionDays * dayMs, absenceMs: config.feedAbsenceDays * dayMs },
});
