import { choice, integer, url } from '@plant-shop/platform/config';
import type { Config } from '@plant-shop/platform/config';
import { serviceSettings } from '@plant-shop/platform/service/settings';

export const databaseSetting = {
  databaseUrl: url('STORE_DATABASE_URL', ['postgres', 'postgresql'], { description: "The store's own database" }),
};

/** What `migrate.ts` reads. */
export const migrationSettings = {
  ...databaseSetting,
  ownerUrl: url('STORE_MIGRATION_DATABASE_URL', ['postgres', 'postgresql'], {
    description:
      'The same database as the role that owns its tables, for migrations alone. Empty: the service itself owns them, ' +
      'and its audit log is append-only by triggers alone',
    default: '',
  }),
};

const milliseconds = (variable: string, description: string, byDefault: number) =>
  integer(variable, { description: `${description}, in milliseconds`, default: String(byDefault), min: 0, max: 10 ** 10 });

const days = (variable: string, description: string, byDefault: number) =>
  integer(variable, { description: `${description}, in days`, default: String(byDefault), min: 7, max: 3_650 });

export const storeSettings = {
  ...serviceSettings,
  ...databaseSetting,
  initialStock: integer('INITIAL_STOCK', {
    description: 'Free units of a new plant whose creation names no quantity',
    default: '0',
    min: 0,
    max: 1_000_000_000,
  }),
  orderTtlMs: milliseconds('ORDER_TTL_MS', 'How long an order waits for its payment before it expires', 900_000),
  paymentProvider: choice('PAYMENT_PROVIDER', ['external', 'simulated'], {
    description: '`simulated` approves and delivers every order by itself',
    default: 'external',
  }),
  simulatedApprovalDelayMs: milliseconds('SIMULATED_APPROVAL_DELAY_MS', 'Simulated payment: from placing to approval', 5_000),
  simulatedDeliveryDelayMs: milliseconds('SIMULATED_DELIVERY_DELAY_MS', 'Simulated delivery: from approval on', 15_000),
  feedRetentionDays: days('FEED_RETENTION_DAYS', 'How long events stay in the feed at least', 7),
  feedAbsenceDays: days('FEED_ABSENCE_DAYS', 'Old events do not wait for a follower that has not asked for so long', 30),
  placingLanes: integer('PLACING_LANES', {
    description: 'Batches of orders that may be written at the same time; each has its own database connection',
    default: '1',
    min: 1,
    max: 64,
  }),
  maxInFlight: integer('MAX_IN_FLIGHT', {
    description: 'Calls carried out at the same time; beyond it callers are told to come back',
    default: '5000',
    min: 1,
    max: 100_000,
  }),
};

export type StoreConfig = Config<typeof storeSettings>;
