import type { ServiceConfig } from '@plant-shop/platform/service/service';
import type { IdentityConfig } from './config.js';
import { type HashingCost, productionCost } from './passwords/password-hasher.js';

/** What identity's parts need of its settings, in their own terms. */
export interface IdentityOptions {
  readonly hashingCost: HashingCost;
  readonly passwordMinLength: number;
  readonly sessionTtlHours: number;
  readonly loginLimits: { readonly perUser: number; readonly perNetwork: number };
  /** Pause between two looks for deletions that nobody carries on. */
  readonly deletionIntervalMs: number;
}

export const IDENTITY_OPTIONS = Symbol('identity options');

export const toOptions = (config: Omit<IdentityConfig, keyof ServiceConfig>): IdentityOptions => ({
  hashingCost: productionCost,
  passwordMinLength: config.passwordMinLength,
  sessionTtlHours: config.sessionTtlHours,
  loginLimits: { perUser: config.loginLimitPerUser, perNetwork: config.loginLimitPerAddress },
  deletionIntervalMs: 2_000,
});
