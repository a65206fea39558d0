import { type Config, flag, integer, list, secrets, type Setting } from '@plant-shop/platform/config';
import type { WebhooksOptions } from '../../options.js';

const factor = (variable: string, documented: { description: string; default: string }): Setting<number> => ({
  variable,
  description: documented.description,
  defaultText: documented.default,
  parse: (text) => {
    const value = Number(text);
    if (!(value > 0 && value <= 1)) throw new Error('be a number above 0, at most 1');
    return value;
  },
});

/** A list of exceptions to the rule for targets (`TargetGuard`). */
export const allowedTargets = (variable: string, description: string): Setting<readonly string[]> =>
  list(variable, {
    description,
    each: 'entries like receiver.example:8443 or localhost:*',
    isValid: (entry) => /^([\w.-]+|\[[\da-f:.]+\]):(\*|\d{1,5})$/i.test(entry),
  });

export const webhookSettings = {
  secrets: secrets('NOTIFICATIONS_SECRET', {
    description:
      "Encrypts webhooks' signing secrets, and mails; at least 32 characters, the same on all replicas. While it is changed, the new one, a comma and " +
      'the old one',
  }),
  webhooksPerUser: integer('WEBHOOKS_PER_USER', {
    description: 'Webhooks per user',
    default: '20',
    min: 1,
    max: 10_000,
  }),
  webhookHttpsOnly: flag('WEBHOOK_HTTPS_ONLY', {
    description: 'Refuses http URLs except for allowed targets; always on when NODE_ENV is production',
    default: 'false',
  }),
  webhookAllowedTargets: allowedTargets('WEBHOOK_ALLOWED_TARGETS', 'Receivers allowed outside the public internet: `host:port`, or `host:*` for all ports'),
  webhookInFlight: integer('WEBHOOK_IN_FLIGHT', {
    description: 'Concurrent attempts per owner and replica; of all owners together, eight times as many',
    default: '64',
    min: 1,
    max: 10_000,
  }),
  webhookInFlightPerEndpoint: integer('WEBHOOK_IN_FLIGHT_PER_ENDPOINT', {
    description: 'Concurrent attempts per endpoint, across replicas',
    default: '32',
    min: 1,
    max: 10_000,
  }),
  webhookRatePerEndpoint: integer('WEBHOOK_RATE_PER_ENDPOINT', {
    description: 'Attempts per endpoint and second, across replicas',
    default: '1000',
    min: 1,
    max: 1_000_000,
  }),
  webhookRatePerHost: integer('WEBHOOK_RATE_PER_HOST', {
    description:
      'First rate of posts to one host per second, of all replicas; it doubles while most get 2xx within a second',
    default: '50',
    min: 1,
    max: 1_000_000,
  }),
  webhookPendingPerOwner: integer('WEBHOOK_PENDING_PER_OWNER', {
    description: 'Waiting deliveries of one owner beyond which tests, resends and replays get 429',
    default: '100000',
    min: 1,
    max: 100_000_000,
  }),
  webhookPendingPerEndpoint: integer('WEBHOOK_PENDING_PER_ENDPOINT', {
    description: 'The same for one endpoint, which then counts as behind',
    default: '50000',
    min: 1,
    max: 100_000_000,
  }),
  webhookSilentAttempts: integer('WEBHOOK_SILENT_ATTEMPTS', {
    description: 'Consecutive slow or unanswered attempts after which an endpoint gets one at a time, with pauses',
    default: '5',
    min: 1,
    max: 1_000,
  }),
  webhookDeliveryRetentionDays: integer('WEBHOOK_DELIVERY_RETENTION_DAYS', {
    description: 'Retention of ended deliveries and their attempts, in days',
    default: '30',
    min: 1,
    max: 3_650,
  }),
  webhookTimeScale: factor('WEBHOOK_TIME_SCALE', {
    description: 'For tests: multiplies pauses, also of mail, and the days until endpoints are disabled or held events fail',
    default: '1',
  }),
};

const dayMs = 86_400_000;

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
  ratePerHost: config.webhookRatePerHost,
  pending: { perOwner: config.webhookPendingPerOwner, perEndpoint: config.webhookPendingPerEndpoint },
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
