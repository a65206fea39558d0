import type { Principal } from '@plant-shop/platform/rpc/principal';

/** On whose behalf a request comes. */
export interface Caller {
  readonly principal: Principal;
  /** Names the credential (never its secret): what the rate limit counts by. */
  readonly credential: string;
  /** SHA-256 of the session token that was shown, in base64url. */
  readonly sessionDigest?: string;
}
