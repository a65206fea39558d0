import { uuidPattern } from '@plant-shop/contracts/fields';
import type { SigningKeys } from '@plant-shop/contracts/identity';
import { type Permission, permissions, type TokenResource, tokenResources } from '@plant-shop/contracts/permissions';
import { createLocalJWKSet, errors, type JWTPayload, jwtVerify, type JWTVerifyGetKey } from 'jose';
import { CredentialRefused } from './authentication.js';
import { revocationKey } from './revocation-log.js';

/** The claims of a valid access token. */
export interface AccessToken {
  readonly jti: string;
  /** Id of the key that signed the token. */
  readonly kid: string;
  readonly clientId: string;
  readonly userId: string;
  /** The user's grant to the client; absent in tokens that a client obtained for itself. */
  readonly grantId?: string;
  /** The client secret that the token was issued for; absent for clients without a secret. */
  readonly secretId?: string;
  readonly permissions: readonly Permission[];
  /** What it is for. */
  readonly resource: TokenResource;
  /** Milliseconds since 1970, by identity's clock. */
  readonly expiresAt: number;
}

export interface AccessTokensOptions {
  /** The public address: the tokens' issuer, and with a `TokenResource` appended their audience. */
  readonly publicUrl: string;
  readonly readKeys: () => Promise<SigningKeys>;
  /** Identity's clock, in milliseconds since 1970. */
  readonly identityTime: () => number;
}

/** Asymmetric only, so that a published key can never serve as an HMAC secret. */
const algorithms = ['ES256', 'RS256', 'PS256', 'EdDSA'];
/** Minimum time between two reads of the keys for tokens with unknown key ids. */
const refetchPauseMs = 5_000;
/** Keys are read again after this, which bounds the trust in a withdrawn key. */
const maxKeyAgeMs = 300_000;

/** Verifies JWT access tokens (RFC 9068) locally, with identity's published keys. */
export class AccessTokens {
  private keys: JWTVerifyGetKey | undefined;
  private fetchedAt = -Infinity;
  private fetching: Promise<JWTVerifyGetKey> | undefined;

  constructor(
    private readonly options: AccessTokensOptions,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /**
   * Verifies signature, type, issuer, audience, times and form, but not whether the token is revoked.
   * @throws CredentialRefused; CodedError `unavailable` when there are no keys to verify with
   */
  async verify(token: string): Promise<AccessToken> {
    try {
      const { payload, protectedHeader } = await jwtVerify(token, (header, jws) => this.keyFor(header, jws), {
        issuer: this.options.publicUrl,
        audience: tokenResources.map((one) => `${this.options.publicUrl}${one}`),
        typ: 'at+jwt',
        algorithms,
        // The same clock that set the token's times, so no tolerance is needed.
        currentDate: new Date(this.options.identityTime()),
        requiredClaims: ['sub', 'jti', 'exp', 'client_id'],
      });
      return toAccessToken(payload, protectedHeader.kid, this.options.publicUrl);
    } catch (error) {
      if (error instanceof errors.JOSEError) throw refused();
      throw error;
    }
  }

  /** Discards the keys, so that the next token is verified with newly read ones. */
  forgetKeys(): void {
    this.keys = undefined;
    this.fetching = undefined;
  }

  private async keyFor(...key: Parameters<JWTVerifyGetKey>): Promise<Awaited<ReturnType<JWTVerifyGetKey>>> {
    const keys = this.keys && this.now() - this.fetchedAt < maxKeyAgeMs ? this.keys : await this.fetch();
    try {
      return await keys(...key);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || this.now() - this.fetchedAt < refetchPauseMs) throw error;
      return (await this.fetch())(...key);
    }
  }

  private fetch(): Promise<JWTVerifyGetKey> {
    if (this.fetching) return this.fetching;
    const fetching: Promise<JWTVerifyGetKey> = this.readKeys(() => this.fetching === fetching).finally(() => {
      if (this.fetching === fetching) this.fetching = undefined;
    });
    this.fetching = fetching;
    return fetching;
  }

  /** @param isWanted false after `forgetKeys`: the answer may be older than its reason */
  private async readKeys(isWanted: () => boolean): Promise<JWTVerifyGetKey> {
    const { keys } = await this.options.readKeys();
    if (!isWanted()) return this.fetch();
    this.keys = createLocalJWKSet({ keys: [...keys] });
    this.fetchedAt = this.now();
    return this.keys;
  }
}

function toAccessToken(claims: JWTPayload, kid: string | undefined, publicUrl: string): AccessToken {
  const { jti, sub, exp, client_id: clientId, scope, grant_id: grantId, secret_id: secretId } = claims;
  const resource = tokenResources.find((one) => [claims.aud].flat().join() === `${publicUrl}${one}`);
  if (
    // Required, to look up whether the signing key was revoked.
    kid === undefined ||
    resource === undefined ||
    jti === undefined ||
    exp === undefined ||
    sub === undefined ||
    !uuidPattern.test(sub) ||
    typeof clientId !== 'string' ||
    !isOptionalString(scope) ||
    !isOptionalString(grantId) ||
    !isOptionalString(secretId)
  ) {
    throw refused();
  }
  const scopes = new Set(scope?.split(' '));
  return {
    jti,
    kid,
    clientId,
    userId: sub,
    ...(grantId !== undefined && { grantId }),
    ...(secretId !== undefined && { secretId }),
    permissions: permissions.filter((one) => scopes.has(one)),
    resource,
    expiresAt: exp * 1_000,
  };
}

const isOptionalString = (claim: unknown): claim is string | undefined => claim === undefined || typeof claim === 'string';

/** Returns the entries of the revocation log that revoke the token, except the one for its user. */
export const revocationKeysOf = ({ jti, kid, clientId, grantId, secretId }: AccessToken): string[] => [
  revocationKey('accessToken', jti),
  revocationKey('signingKey', kid),
  revocationKey('client', clientId),
  ...(grantId === undefined ? [] : [revocationKey('grant', grantId)]),
  ...(secretId === undefined ? [] : [revocationKey('clientSecret', secretId)]),
];

export const refused = (): CredentialRefused =>
  new CredentialRefused(
    'credential-refused',
    'The access token is not valid here or has expired. Get a new one from the token endpoint.',
    'Bearer realm="plant-shop", error="invalid_token"',
  );
