import type { FeedRetentionOptions } from '@plant-shop/events/feed-retention';
import { choice, type Config, integer } from '@plant-shop/platform/config';
import type { DatabaseConfig } from '@plant-shop/platform/postgres/address';
import type { DatabaseSettings } from '@plant-shop/platform/postgres/database';
import type { ServiceConfig } from '@plant-shop/platform/service/service';
import { databaseCa, databasePoolSize, databaseUrl, maxInFlight, ownerUrl, sandbox, serviceSettings } from '@plant-shop/platform/service/settings';

/** When orders are paid, expire and are delivered. */
export interface CheckoutPolicy {
  /** `simulated` approves and delivers orders by itself. */
  readonly provider: 'simulated' | 'external';
  readonly orderTtlMs: number;
  readonly approvalDelayMs: number;
  readonly deliveryDelayMs: number;
  /** What a customer may reserve without paying, beyond the first unpaid order. */
  readonly unpaid: { readonly orders: number; readonly units: number };
  /** Up to so many free units everybody may know their number; beyond it only those who may read stock. */
  readonly shownUpTo: number;
}

/** The settings as the store's modules use them. */
export interface StoreOptions {
  readonly sandbox: boolean;
  readonly initialStock: number;
  /** 0: never. */
  readonly archiveAfterDays: number;
  readonly placingLanes: number;
  readonly checkout: CheckoutPolicy;
  readonly feed: FeedRetentionOptions;
}

export const STORE_OPTIONS = Symbol('store options');

const databaseSetting = {
  databaseUrl: databaseUrl('STORE_DATABASE_URL', "The store's own database"),
  databaseCa,
  sandbox,
};

/** The settings of `migrate.ts`. */
export const migrationSettings = {
  ...databaseSetting,
  ownerUrl: ownerUrl('STORE_MIGRATION_DATABASE_URL'),
};

const milliseconds = (variable: string, description: string, byDefault: number) =>
  integer(variable, { description: `${description}, in milliseconds`, default: String(byDefault), min: 0, max: 10 ** 10 });

const days = (variable: string, description: string, byDefault: number) =>
  integer(variable, { description: `${description}, in days`, default: String(byDefault), min: 7, max: 3_650 });

export const storeSettings = {
  ...serviceSettings,
  ...databaseSetting,
  databasePoolSize: databasePoolSize('STORE_DATABASE_POOL_SIZE', 16),
  initialStock: integer('INITIAL_STOCK', {
    description: 'Free units of a new plant created without a quantity',
    default: '0',
    min: 0,
    max: 1_000_000_000,
  }),
  orderTtlMs: milliseconds('ORDER_TTL_MS', 'Time until an unpaid order expires', 900_000),
  paymentProvider: choice('PAYMENT_PROVIDER', ['external', 'simulated'], {
    description: '`simulated` approves and delivers orders automatically, as every sandbox does',
    default: 'external',
  }),
  simulatedApprovalDelayMs: milliseconds('SIMULATED_APPROVAL_DELAY_MS', 'Simulated payment: delay from placing to approval', 5_000),
  simulatedDeliveryDelayMs: milliseconds('SIMULATED_DELIVERY_DELAY_MS', 'Simulated delivery: delay from approval, extended to the ship date of the order', 15_000),
  unpaidOrders: integer('UNPAID_ORDERS', {
    description: 'Unpaid orders of a customer beyond the first; callers with `manage:orders` are exempt',
    default: '20',
    min: 0,
    max: 1_000_000,
  }),
  unpaidUnits: integer('UNPAID_UNITS', {
    description: "Units in a customer's unpaid orders beyond the first; callers with `manage:orders` are exempt",
    default: '200',
    min: 0,
    max: 1_000_000_000,
  }),
  availabilityShownUpTo: integer('AVAILABILITY_SHOWN_UP_TO', {
    description: 'Free units whose number every customer may know; beyond it `read:stock` is needed',
    default: '10',
    min: 0,
    max: 1_000_000_000,
  }),
  feedRetentionDays: days('FEED_RETENTION_DAYS', 'Minimum retention of events in the feed', 7),
  feedAbsenceDays: days('FEED_ABSENCE_DAYS', 'Absence after which a follower no longer holds back the deletion of events', 30),
  archiveAfterDays: integer('ORDERS_ARCHIVE_AFTER_DAYS', {
    description: 'Days without a change after which delivered and cancelled orders become old; at least 7, or 0: never',
    default: '400',
    min: 0,
    max: 36_500,
  }),
  placingLanes: integer('PLACING_LANES', {
    description: 'Concurrent batches of orders; each has its own database connection',
    default: '1',
    min: 1,
    max: 64,
  }),
  maxInFlight: maxInFlight(5_000),
};

export type StoreConfig = Config<typeof storeSettings>;

const dayMs = 86_400_000;

export const toOptions = (config: Omit<StoreConfig, keyof ServiceConfig>): StoreOptions => ({
  sandbox: config.sandbox,
  initialStock: config.initialStock,
  archiveAfterDays: config.archiveAfterDays,
  placingLanes: config.placingLanes,
  checkout: {
    provider: config.sandbox ? 'simulated' : config.paymentProvider,
    orderTtlMs: config.orderTtlMs,
    approvalDelayMs: config.simulatedApprovalDelayMs,
    deliveryDelayMs: config.simulatedDeliveryDelayMs,
    unpaid: { orders: config.unpaidOrders, units: config.unpaidUnits },
    shownUpTo: config.availabilityShownUpTo,
  },
  feed: { keepMs: config.feedRetentionDays * dayMs, absenceMs: config.feedAbsenceDays * dayMs },
});

/** Minimum number of connections for everything but the lanes: reads, the feed, expiry and payments. */
const connectionsBesideLanes = 3;

/** Returns the faults of settings that are valid one by one, but not in combination. */
export const faultsOf = ({ placingLanes, databasePoolSize, archiveAfterDays }: Pick<StoreConfig, 'placingLanes' | 'databasePoolSize' | 'archiveAfterDays'>): string[] => [
  ...(databasePoolSize < placingLanes + connectionsBesideLanes
    ? [`STORE_DATABASE_POOL_SIZE must be at least PLACING_LANES + ${connectionsBesideLanes}: each lane has its own database connection`]
    : []),
  ...(archiveAfterDays > 0 && archiveAfterDays < 7 ? ['ORDERS_ARCHIVE_AFTER_DAYS must be 0 or at least 7'] : []),
];

export const migrationsFolder = new URL('../migrations/', import.meta.url);

/** Without entities: the hot paths are hand-written SQL. */
export const storeDatabase = ({ databaseUrl, databaseCa, sandbox }: DatabaseConfig, poolSize: number): DatabaseSettings => ({
  url: databaseUrl,
  ca: databaseCa,
  sandbox,
  applicationName: 'store',
  poolSize,
  migrations: migrationsFolder,
});
