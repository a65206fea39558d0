import type { JWK } from 'jose';

/** ECDSA on P-256: every JWT library has it, and it signs 20 times as fast as RSA of that strength. */
export const signingAlgorithm = 'ES256';

/** Seconds that an access token lives. The revocation log keeps its entries longer than that. */
export const accessTokenTtl = 3_600;

/**
 * How often replicas look for keys that came, began to sign, or ended. What a revoked key signs until then is refused, so clients
 * that ask for a token meanwhile have to ask again.
 */
export const keysLookMs = 1_000;

/**
 * A new key is shown by every replica before any of them signs with it: whoever verifies a token may ask another
 * replica than the one that signed it.
 */
export const publishedAheadSeconds = 30;

/** Until the last token that a key signed has ended, and some more for replicas that learnt late of its successor. */
export const verifiesOnSeconds = publishedAheadSeconds + accessTokenTtl + 600;

/** Private keys that tokens may have been signed with, and the one that signs new ones. */
export interface KeyRing {
  readonly signingKid: string;
  readonly jwks: readonly JWK[];
}

/** The newest of those that may sign. @param keys newest first */
export function signingKidOf(keys: readonly { readonly kid: string; readonly maySign: boolean }[]): string {
  const signing = keys.find((one) => one.maySign);
  if (!signing) throw new Error('there is no key to sign access tokens with');
  return signing.kid;
}

/** Whether a ring is still what the keys make. */
export const isCurrent = (
  { signingKid, jwks }: KeyRing,
  keys: readonly { readonly kid: string; readonly maySign: boolean }[],
): boolean =>
  jwks.length === keys.length && keys.every(({ kid }, n) => jwks[n]?.kid === kid) && signingKidOf(keys) === signingKid;
