import type { Principal } from '@plant-shop/platform/rpc/principal';

/** On whose behalf a request comes. */
export interface Caller {
  readonly principal: Principal;
  /** Names the credential (never its secret): what the rate limit counts by. */
  readonly credential: string;
  /** Any of these entries in the revocation log ends what was begun with these credentials (`revocationKey`). */
  readonly revokedBy: readonly string[];
  /** When the first of the credentials ends, in milliseconds since the epoch by identity's clock; Infinity for never. */
  readonly expiresAt: number;
  /** SHA-256 of the session token that was shown, in base64url. */
  readonly sessionDigest?: string;
}
