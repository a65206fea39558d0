import type { JWK } from 'jose';

/** ECDSA on P-256: every JWT library supports it, and it signs 20 times faster than RSA of the same strength. */
export const signingAlgorithm = 'ES256';

/** Lifetime of an access token, in seconds. The revocation log keeps its entries longer. */
export const accessTokenTtl = 3_600;

/**
 * How often replicas reload the signing keys, in milliseconds. Until then a replica may sign with a revoked key; such tokens are
 * refused, and the client must request another.
 */
export const signingKeysRefreshMs = 1_000;

/**
 * How long a new key is published before it signs, in seconds. Every replica must publish it before any of them signs with it:
 * a verifier may fetch the keys from another replica than the one that signed.
 */
export const publishedAheadSeconds = 30;

/** How long a replaced key still verifies, in seconds: until its last token has expired, and 600 s for replicas that lag behind. */
export const retiredKeyTtlSeconds = publishedAheadSeconds + accessTokenTtl + 600;

/** Private keys of all tokens that may be valid, and the id of the key that signs new ones. */
export interface KeyRing {
  readonly signingKid: string;
  readonly jwks: readonly JWK[];
}

/** Returns the id of the newest key that may sign; of the oldest, if the clock was set back and none may yet. @param keys newest first */
export function signingKidOf(keys: readonly { readonly kid: string; readonly maySign: boolean }[]): string {
  const signing = keys.find((one) => one.maySign) ?? keys.at(-1);
  if (!signing) throw new Error('there is no signing key');
  return signing.kid;
}

/** Returns whether the ring still matches the stored keys. */
export const isCurrent = (
  { signingKid, jwks }: KeyRing,
  keys: readonly { readonly kid: string; readonly maySign: boolean }[],
): boolean =>
  jwks.length === keys.length && keys.every(({ kid }, n) => jwks[n]?.kid === kid) && signingKidOf(keys) === signingKid;
