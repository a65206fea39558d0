import { createLocalJWKSet, errors, type JWK, jwtVerify, type JWTPayload } from 'jose';
import type { AdapterPayload } from 'oidc-provider';
import type { Revoked } from '../revocations/revocations.repository.js';
import { type KeyRing, signingAlgorithm } from './signing-key.js';

/** What an access token of ours says, in the provider's terms. */
export interface ReadAccessToken {
  readonly payload: AdapterPayload & { readonly kind: 'AccessToken' | 'ClientCredentials' };
  /** Any of these entries of the revocation log has ended it. */
  readonly endedBy: readonly Revoked[];
}

/** @returns undefined when it is none of ours, or has expired */
export type AccessTokenReader = (value: string) => Promise<ReadAccessToken | undefined>;

/** What access tokens are for: their audience. */
export const resourceOf = (publicUrl: string): string => `${publicUrl}/v3`;

/**
 * The provider revokes and introspects only tokens that it can look up, and refuses what looks like a JWT. Its adapter
 * looks up by the JWT itself; this is how it gets there.
 */
export const unstructured = (jwt: string): string => jwt.replaceAll('.', '~');
const structured = (value: string): string => value.replaceAll('~', '.');

/** @param now the database's clock, in milliseconds since the epoch */
export function accessTokenReader(publicUrl: string, { jwks }: KeyRing, now: () => number): AccessTokenReader {
  const keys = createLocalJWKSet({ keys: jwks.map(publicPart) });
  return async (value) => {
    try {
      const { payload, protectedHeader } = await jwtVerify(structured(value), keys, {
        issuer: publicUrl,
        audience: resourceOf(publicUrl),
        typ: 'at+jwt',
        algorithms: [signingAlgorithm],
        currentDate: new Date(now()),
      });
      return toRead(payload, protectedHeader.kid);
    } catch (error) {
      if (error instanceof errors.JOSEError) return undefined;
      throw error;
    }
  };
}

function publicPart(jwk: JWK): JWK {
  const { ...shown } = jwk;
  delete shown.d;
  return shown;
}

function toRead(claims: JWTPayload, kid = ''): ReadAccessToken {
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
      // Of a token that acts for the client's owner.
      ...(grantId === undefined && { extra: { sub } }),
    },
    endedBy: [
      { kind: 'accessToken', id: jti },
      { kind: 'signingKey', id: kid },
      ...(grantId === undefined ? [] : [{ kind: 'grant', id: grantId } as const]),
      ...(secretId === undefined ? [] : [{ kind: 'clientSecret', id: secretId } as const]),
    ],
  };
}
