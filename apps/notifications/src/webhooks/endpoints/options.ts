import type { Config } from '@plant-shop/platform/config';
import type { QueueLimits } from '../queue/turn.js';
import type { webhookSettings } from './settings.js';

const dayMs = 86_400_000;

/** Options of webhooks, derived from the settings. */
export interface WebhooksOptions {
  /** Encrypt the endpoints' signing secrets: the current key, then former ones that still decrypt. */
  readonly encryptionKeys: readonly string[];
  /** Maximum number of endpoints of a user. */
  readonly perUser: number;
  /** Whether targets must use https, unless `allowedTargets` lists them. */
  readonly httpsOnly: boolean;
  /** Targets that may be called although they are not public, each as `host:port` or `host:*`. */
  readonly allowedTargets: readonly string[];
  /** Concurrent attempts of one owner on this replica while no other owner has any. */
  readonly inFlight: number;
  readonly limits: QueueLimits;
  /** Factor of the pauses between attempts, above 0 and at most 1; below 1 only in tests. `failingMs` and `holdMs` have it already. */
  readonly timeScale: number;
  /** Time limit of an attempt, from the lookup of the name to the end of the body. */
  readonly attemptLimitMs: number;
  /** Part of that limit for the body of the response. */
  readonly bodyLimitMs: number;
  /** Length of a lease. After it, another worker may claim a delivery whose worker crashed or lost the database. */
  readonly leaseMs: number;
  /** Pause between two polls for work that was not announced. */
  readonly pollMs: number;
  /** An endpoint without a success for this long is disabled. */
  readonly failingMs: number;
  /** How long deliveries of a disabled endpoint are held. */
  readonly holdMs: number;
  /** How long ended deliveries are kept. */
  readonly keepEndedMs: number;
  /** Pause between two sweeps. */
  readonly sweepMs: number;
  /** Maximum number of deliveries of a step, and the time limit of each of its statements. */
  readonly stepRows: number;
  readonly stepLimitMs: number;
  /** Pause between two checks of all owners: the longest time after which an owner's lost permission is noticed. */
  readonly checkAllOwnersMs: number;
  /** Certificate authorities in addition to the system's. */
  readonly ca?: string;
}

export const toWebhooksOptions = (config: Config<typeof webhookSettings>, isProduction: boolean): WebhooksOptions => ({
  encryptionKeys: config.secrets,
  perUser: config.webhooksPerUser,
  httpsOnly: isProduction || config.webhookHttpsOnly,
  allowedTargets: config.webhookAllowedTargets,
  inFlight: config.webhookInFlight,
  limits: {
    inFlight: config.webhookInFlightPerEndpoint,
    perSecond: config.webhookRatePerEndpoint,
    silentAttempts: config.webhookSilentAttempts,
    pauseMs: 5_000 * config.webhookTimeScale,
    longestPauseMs: 300_000 * config.webhookTimeScale,
  },
  timeScale: config.webhookTimeScale,
  attemptLimitMs: 15_000,
  bodyLimitMs: 1_000,
  leaseMs: 6_000,
  pollMs: 250,
  failingMs: 5 * dayMs * config.webhookTimeScale,
  holdMs: 30 * dayMs * config.webhookTimeScale,
  keepEndedMs: config.webhookDeliveryRetentionDays * dayMs,
  sweepMs: 10_000,
  stepRows: 2_000,
  stepLimitMs: 5_000,
  checkAllOwnersMs: 600_000,
});
