/** Argon2's parameters. */
export interface HashingCost {
  /** Memory of one hash, in KiB. */
  readonly memoryCost: number;
  readonly timeCost: number;
  readonly parallelism: number;
}

export interface IdleHours {
  readonly customer: number;
  readonly staff: number;
}

/** Identity's options, derived from its settings. */
export interface IdentityOptions {
  readonly hashingCost: HashingCost;
  readonly passwordMinLength: number;
  readonly refuseCommonPasswords: boolean;
  readonly requireSecondFactor: 'none' | 'staff';
  readonly sessionTtlHours: number;
  /** After how many hours without use a session or refresh token ends, by the role of its user; of admins as of staff. */
  readonly idleHours: IdleHours;
  readonly loginLimits: { readonly perUser: number; readonly perNetwork: number };
  /** Mails that may be asked for in 15 minutes: for an account or address, and from a network. */
  readonly mailLimits: { readonly perAddress: number; readonly perNetwork: number };
  /** Interval at which waiting mails and requests for recovery are looked for. */
  readonly mailIntervalMs: number;
  /** The gateway's public origin. */
  readonly publicUrl: string;
  /** Listen address of the OAuth 2.0 pages; only the gateway connects to it. */
  readonly http: { readonly host: string; readonly port: number };
  readonly demoData: boolean;
  readonly sandbox: boolean;
  /** Interval of the search for user deletions whose lease has expired. */
  readonly deletionIntervalMs: number;
  /** Interval at which `lastUsedAt` of credentials is written. */
  readonly usesIntervalMs: number;
  /** Interval at which a replica reloads the signing keys. */
  readonly signingKeysRefreshMs: number;
}

export const IDENTITY_OPTIONS = Symbol('identity options');
