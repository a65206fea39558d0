import { tokenResources } from '@plant-shop/contracts/permissions';
import { createLocalJWKSet, errors, type JWK, jwtVerify, type JWTPayload } from 'jose';
import type { AdapterPayload } from 'oidc-provider';
import type { RevocationTarget } from '../revocations/revocations.js';
import { type KeyRing, signingAlgorithm } from './signing-key.js';

/** The claims of a verified access token, in the provider's terms. */
interface VerifiedAccessToken {
  readonly payload: AdapterPayload & { readonly kind: 'AccessToken' | 'ClientCredentials' };
  /** Any of these entries in the revocation log has ended the token. */
  readonly revokedBy: readonly RevocationTarget[];
}

/** Verifies an access token. @returns undefined when identity did not issue it, or it has expired */
export type AccessTokenVerifier = (value: string) => Promise<VerifiedAccessToken | undefined>;

/** Returns the resource indicator of the API: the audience of access tokens, unless a client asks for those of agents. */
export const apiResource = (publicUrl: string): string => `${publicUrl}${tokenResources[0]}`;
/** Returns the resource indicators that tokens can be for (RFC 8707). */
export const resourcesOf = (publicUrl: string): string[] => tokenResources.map((one) => `${publicUrl}${one}`);

/**
 * Encodes a JWT so that it does not look like one. The provider revokes and introspects only opaque tokens, which it looks
 * up with its adapter, and refuses JWTs. The adapter decodes the JWT again.
 */
export const toOpaque = (jwt: string): string => jwt.replaceAll('.', '~');
const toJwt = (value: string): string => value.replaceAll('~', '.');

/** @param now returns the database's time in milliseconds since the epoch */
export function createAccessTokenVerifier(publicUrl: string, { jwks }: KeyRing, now: () => number): AccessTokenVerifier {
  const keys = createLocalJWKSet({ keys: jwks.map(publicPart) });
  return async (value) => {
    try {
      const { payload, protectedHeader } = await jwtVerify(toJwt(value), keys, {
        issuer: publicUrl,
        audience: resourcesOf(publicUrl),
        typ: 'at+jwt',
        algorithms: [signingAlgorithm],
        currentDate: new Date(now()),
      });
      return toVerified(payload, protectedHeader.kid);
    } catch (error) {
      if (error instanceof errors.JOSEError) return undefined;
      throw error;
    }
  };
}

function publicPart(jwk: JWK): JWK {
  const { ...publicJwk } = jwk;
  delete publicJwk.d;
  return publicJwk;
}

function toVerified(claims: JWTPayload, kid = ''): VerifiedAccessToken {
  const { jti = '', iat, exp, aud, sub } = claims;
  const [clientId, scope, grantId, secretId] = ['client_id', 'scope', 'grant_id', 'secret_id'].map((name) => {
    const value = claims[name];
    return typeof value === 'string' ? value : undefined;
  });
  return {
    payload: {
      kind: grantId === undefined ? 'ClientCredentials' : 'AccessToken',
      jti,
      clientId,
      ...(iat !== undefined && { iat }),
      ...(exp !== undefined && { exp }),
      ...(aud !== undefined && { aud }),
      ...(scope !== undefined && { scope }),
      ...(grantId !== undefined && { grantId, accountId: sub }),
      // The token acts for the client's owner.
      ...(grantId === undefined && { extra: { sub } }),
    },
    revokedBy: [
      { kind: 'accessToken', id: jti },
      { kind: 'signingKey', id: kid },
      ...(clientId === undefined ? [] : [{ kind: 'client', id: clientId } as const]),
      ...(sub === undefined ? [] : [{ kind: 'user', id: sub } as const]),
      ...(grantId === undefined ? [] : [{ kind: 'grant', id: grantId } as const]),
      ...(secretId === undefined ? [] : [{ kind: 'clientSecret', id: secretId } as const]),
    ],
  };
}
