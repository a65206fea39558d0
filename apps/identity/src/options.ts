import type { ServiceConfig } from '@plant-shop/platform/service/service';
import type { IdentityConfig } from './config.js';
import { signingKeysRefreshMs } from './oauth/signing-key.js';
import { type HashingCost, productionCost } from './passwords/password-hasher.js';

/** Identity's options, derived from its settings. */
export interface IdentityOptions {
  readonly hashingCost: HashingCost;
  readonly passwordMinLength: number;
  readonly refuseCommonPasswords: boolean;
  readonly sessionTtlHours: number;
  readonly loginLimits: { readonly perUser: number; readonly perNetwork: number };
  /** The gateway's public origin. */
  readonly publicUrl: string;
  /** Listen address of the OAuth 2.0 pages; only the gateway connects to it. */
  readonly http: { readonly host: string; readonly port: number };
  readonly demoData: boolean;
  /** Interval of the search for user deletions whose lease has expired. */
  readonly deletionIntervalMs: number;
  /** Interval at which `lastUsedAt` of credentials is written. */
  readonly usesIntervalMs: number;
  /** Interval at which a replica reloads the signing keys. */
  readonly signingKeysRefreshMs: number;
}

export const IDENTITY_OPTIONS = Symbol('identity options');

export const toOptions = (config: Omit<IdentityConfig, keyof ServiceConfig>): IdentityOptions => ({
  hashingCost: productionCost,
  passwordMinLength: config.passwordMinLength,
  refuseCommonPasswords: config.refuseCommonPasswords,
  sessionTtlHours: config.sessionTtlHours,
  loginLimits: { perUser: config.loginLimitPerUser, perNetwork: config.loginLimitPerAddress },
  publicUrl: config.publicUrl,
  http: { host: config.httpHost, port: config.httpPort },
  demoData: config.demoData,
  deletionIntervalMs: 2_000,
  usesIntervalMs: 1_000,
  signingKeysRefreshMs,
});
