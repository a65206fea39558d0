import type { ServiceConfig } from '@plant-shop/platform/service/service';
import type { IdentityConfig } from './config.js';
import { keysLookMs } from './oauth/signing-key.js';
import { type HashingCost, productionCost } from './passwords/password-hasher.js';

/** What identity's parts need of its settings, in their own terms. */
export interface IdentityOptions {
  readonly hashingCost: HashingCost;
  readonly passwordMinLength: number;
  readonly refuseCommonPasswords: boolean;
  readonly sessionTtlHours: number;
  readonly loginLimits: { readonly perUser: number; readonly perNetwork: number };
  /** The gateway's origin, as clients see it. */
  readonly publicUrl: string;
  /** Where the OAuth 2.0 pages are served to the gateway. */
  readonly http: { readonly host: string; readonly port: number };
  readonly demoData: boolean;
  /** Pause between two looks for deletions that nobody carries on. */
  readonly deletionIntervalMs: number;
  /** Pause between two times that uses of credentials are written down. */
  readonly usesIntervalMs: number;
  /** Pause between two looks for signing keys that came, began to sign, or ended. */
  readonly keysLookMs: number;
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
  keysLookMs,
});
