import { choice, type Config, flag, integer, port, secrets, text, url } from '@plant-shop/platform/config';
import type { ServiceConfig } from '@plant-shop/platform/service/service';
import { databaseCa, databasePoolSize, databaseUrl, maxInFlight, ownerUrl, sandbox, serviceSettings } from '@plant-shop/platform/service/settings';
import { signingKeysRefreshMs } from './oauth/signing-key.js';
import type { IdentityOptions } from './options.js';
import { productionCost } from './passwords/password-hasher.js';

export const databaseSetting = {
  databaseUrl: databaseUrl('IDENTITY_DATABASE_URL', "Identity's own database"),
  databaseCa,
  sandbox,
};

/** Settings of `migrate.ts`. */
export const migrationSettings = {
  ...databaseSetting,
  ownerUrl: ownerUrl('IDENTITY_MIGRATION_DATABASE_URL'),
};

export const secretSetting = {
  identitySecrets: secrets('IDENTITY_SECRET', {
    description:
      'Encrypts signing keys, OAuth state, secrets of authenticator apps and waiting mails, which are lost without it; at least 32 characters, the same on all replicas. May ' +
      'be several, separated by commas: the first encrypts, all decrypt (docs/operations.md)',
  }),
};

export const identitySettings = {
  ...serviceSettings,
  ...databaseSetting,
  databasePoolSize: databasePoolSize('IDENTITY_DATABASE_POOL_SIZE', 12),
  ...secretSetting,
  publicUrl: url('PUBLIC_URL', ['http', 'https'], {
    description: 'Public origin of the gateway: token issuer and base of links',
  }),
  httpHost: text('IDENTITY_HTTP_HOST', {
    description: 'Listen address of the OAuth 2.0 pages, which only the gateway calls',
    default: '127.0.0.1',
  }),
  httpPort: port('IDENTITY_HTTP_PORT', { description: 'Port of the OAuth 2.0 pages', default: '8082' }),
  passwordMinLength: integer('PASSWORD_MIN_LENGTH', {
    description: 'Minimum length of a password in characters',
    default: '8',
    min: 1,
    max: 64,
  }),
  refuseCommonPasswords: flag('REFUSE_COMMON_PASSWORDS', {
    description: "Refuses new passwords among the 49,000 most common, and those that equal the username, the e-mail address or the shop's name",
    default: 'true',
  }),
  requireSecondFactor: choice('REQUIRE_SECOND_FACTOR', ['none', 'staff'], {
    description: '`staff`: staff and admins add a second factor at their next log-in on a page, and cannot log in without one. API keys are not affected',
    default: 'staff',
  }),
  sessionTtlHours: integer('SESSION_TTL_HOURS', {
    description: 'Lifetime of a session, in hours',
    default: '24',
    min: 1,
    max: 8_760,
  }),
  sessionIdleHours: integer('SESSION_IDLE_HOURS', {
    description: "After how many hours without use a customer's session or refresh token ends. Refresh tokens: after 720 in any case",
    default: '720',
    min: 1,
    max: 8_760,
  }),
  staffSessionIdleHours: integer('STAFF_SESSION_IDLE_HOURS', {
    description: 'The same for staff and administrators',
    default: '12',
    min: 1,
    max: 8_760,
  }),
  loginLimitPerUser: integer('LOGIN_LIMIT_PER_USER', {
    description: 'Failed logins per name in 15 minutes',
    default: '20',
    min: 1,
    max: 1_000_000,
  }),
  loginLimitPerAddress: integer('LOGIN_LIMIT_PER_ADDRESS', {
    description: 'Failed logins and client authentications per network (IPv4 address or IPv6 /64) in 15 minutes',
    default: '100',
    min: 1,
    max: 1_000_000,
  }),
  demoData: flag('DEMO_DATA', {
    description:
      'Creates `admin` / `admin-password`, API key `special-key`, OAuth clients `plant-admin` / `plant-secret`, ' +
      '`plant-docs` (for /docs) and `plant-console` (for /console); refused in production',
    default: 'false',
  }),
  maxInFlight: maxInFlight(2_000),
};

export type IdentityConfig = Config<typeof identitySettings>;

export const toOptions = (config: Omit<IdentityConfig, keyof ServiceConfig>): IdentityOptions => ({
  hashingCost: productionCost,
  passwordMinLength: config.passwordMinLength,
  refuseCommonPasswords: config.refuseCommonPasswords,
  requireSecondFactor: config.requireSecondFactor,
  sessionTtlHours: config.sessionTtlHours,
  idleHours: { customer: config.sessionIdleHours, staff: config.staffSessionIdleHours },
  loginLimits: { perUser: config.loginLimitPerUser, perNetwork: config.loginLimitPerAddress },
  mailLimits: { perAddress: 5, perNetwork: 50 },
  mailIntervalMs: 1_000,
  publicUrl: config.publicUrl,
  http: { host: config.httpHost, port: config.httpPort },
  demoData: config.demoData,
  sandbox: config.sandbox,
  deletionIntervalMs: 2_000,
  usesIntervalMs: 1_000,
  signingKeysRefreshMs,
});

/** Returns faults of settings that are valid each, but not together or not in this environment. */
export const faultsOf = (config: IdentityConfig): string[] => [
  ...(config.demoData && config.nodeEnv === 'production'
    ? ['DEMO_DATA must be false when NODE_ENV is production: its password and keys are public']
    : []),
  ...(isOrigin(config.publicUrl) ? [] : ['PUBLIC_URL must be an origin such as https://shop.example, without a path or query']),
];

function isOrigin(address: string): boolean {
  const { pathname, search, hash, username } = new URL(address);
  return pathname === '/' && search === '' && hash === '' && username === '';
}
