import type { Config } from '@plant-shop/platform/config';
import type { QueueLimits } from '../queue/queue.js';
import type { webhookSettings } from './settings.js';

const dayMs = 86_400_000;

/** What webhooks need of the settings, in their own terms. */
export interface WebhooksOptions {
  readonly secrets: readonly string[];
  readonly perUser: number;
  readonly httpsOnly: boolean;
  readonly allowedTargets: readonly string[];
  /** Attempts of one owner under way on this replica while no other owner has any. */
  readonly inFlight: number;
  readonly limits: QueueLimits;
  readonly timeScale: number;
  readonly attemptLimitMs: number;
  /** Of those, for the body of the answer. */
  readonly bodyLimitMs: number;
  /** After which another worker may claim a delivery whose lease was not renewed: its worker is gone, or has lost the database. */
  readonly leaseMs: number;
  /** Pause between two looks for work that nobody told of. */
  readonly pollMs: number;
  readonly failingMs: number;
  readonly holdMs: number;
  readonly keepEndedMs: number;
  /** Pause between two looks for what has ended. */
  readonly sweepMs: number;
  /** Deliveries that a step makes at most, and the time limit of each of its statements. */
  readonly stepRows: number;
  readonly stepLimitMs: number;
  /** Pause between two looks at whether owners are still there and may see what they get. */
  readonly ownersMs: number;
  /** Certificate authorities beside the system's. */
  readonly ca?: string;
}

export const toWebhooksOptions = (config: Config<typeof webhookSettings>, isProduction: boolean): WebhooksOptions => ({
  secrets: config.secrets,
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
  ownersMs: 600_000,
});
