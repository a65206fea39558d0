import { uuidPattern } from '@plant-shop/contracts/fields';
import type { SigningKeys } from '@plant-shop/contracts/identity';
import { type Permission, permissions } from '@plant-shop/contracts/permissions';
import { createLocalJWKSet, errors, type JWTPayload, jwtVerify, type JWTVerifyGetKey } from 'jose';
import { CredentialRefused } from './credential-refused.js';
import { revocationKey } from './revocation-log.js';

/** What a valid access token says. */
export interface AccessToken {
  readonly jti: string;
  /** The key that signed it. */
  readonly kid: string;
  readonly clientId: string;
  readonly userId: string;
  /** What a user granted to the client; absent in tokens that a client got for itself. */
  readonly grantId?: string;
  /** The client secret that it was issued for; absent for clients that have none. */
  readonly secretId?: string;
  readonly permissions: readonly Permission[];
  /** Milliseconds since the epoch, by identity's clock. */
  readonly expiresAt: number;
}

export interface AccessTokensOptions {
  /** The public address: issuer of the tokens, and with `/v3` their audience. */
  readonly publicUrl: string;
  readonly readKeys: () => Promise<SigningKeys>;
  /** Identity's clock, in milliseconds since the epoch. */
  readonly identityTime: () => number;
}

/** Asymmetric ones only: a key of ours must never be usable as the secret of an HMAC. */
const algorithms = ['ES256', 'RS256', 'PS256', 'EdDSA'];
/** A token with an unknown key id leads to identity at most this often. */
const refetchPauseMs = 5_000;
/** A key that identity has withdrawn is no longer trusted after this. */
const keysForMs = 300_000;

/** Verifies JWT access tokens (RFC 9068) here, with keys that identity publishes. */
export class AccessTokens {
  private keys: JWTVerifyGetKey | undefined;
  private fetchedAt = -Infinity;
  private fetching: Promise<JWTVerifyGetKey> | undefined;

  constructor(
    private readonly options: AccessTokensOptions,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /**
   * Signature, type, issuer, audience, times and form; not whether it is revoked.
   * @throws CredentialRefused; CodedError `unavailable` when there are no keys to verify with
   */
  async verify(token: string): Promise<AccessToken> {
    try {
      const { payload, protectedHeader } = await jwtVerify(token, (header, jws) => this.keyFor(header, jws), {
        issuer: this.options.publicUrl,
        audience: `${this.options.publicUrl}/v3`,
        typ: 'at+jwt',
        algorithms,
        // The clock that the token's times are of: no tolerance is needed.
        currentDate: new Date(this.options.identityTime()),
        requiredClaims: ['sub', 'jti', 'exp', 'client_id'],
      });
      return toAccessToken(payload, protectedHeader.kid);
    } catch (error) {
      if (error instanceof errors.JOSEError) throw refused();
      throw error;
    }
  }

  /** Another set of keys is published: the next token is verified with that. */
  forgetKeys(): void {
    this.keys = undefined;
  }

  private async keyFor(...key: Parameters<JWTVerifyGetKey>): Promise<Awaited<ReturnType<JWTVerifyGetKey>>> {
    const known = this.keys && this.now() - this.fetchedAt < keysForMs ? this.keys : await this.fetch();
    try {
      return await known(...key);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || this.now() - this.fetchedAt < refetchPauseMs) throw error;
      return (await this.fetch())(...key);
    }
  }

  private fetch(): Promise<JWTVerifyGetKey> {
    this.fetching ??= this.readKeys().finally(() => (this.fetching = undefined));
    return this.fetching;
  }

  private async readKeys(): Promise<JWTVerifyGetKey> {
    const { keys } = await this.options.readKeys();
    this.keys = createLocalJWKSet({ keys: [...keys] });
    this.fetchedAt = this.now();
    return this.keys;
  }
}

function toAccessToken(claims: JWTPayload, kid: string | undefined): AccessToken {
  const { jti, sub, exp, client_id: clientId, scope, grant_id: grantId, secret_id: secretId } = claims;
  if (
    // Without it nobody could say whether its key was revoked.
    kid === undefined ||
    jti === undefined ||
    exp === undefined ||
    sub === undefined ||
    !uuidPattern.test(sub) ||
    typeof clientId !== 'string' ||
    !isTextOrAbsent(scope) ||
    !isTextOrAbsent(grantId) ||
    !isTextOrAbsent(secretId)
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
    expiresAt: exp * 1_000,
  };
}

const isTextOrAbsent = (claim: unknown): claim is string | undefined => claim === undefined || typeof claim === 'string';

/** The entries of the revocation log that end it, but for the one that names its user. */
export const revocationKeysOf = ({ jti, kid, clientId, grantId, secretId }: AccessToken): string[] => [
  revocationKey('accessToken', jti),
  revocationKey('signingKey', kid),
  revocationKey('client', clientId),
  ...(grantId === undefined ? [] : [revocationKey('grant', grantId)]),
  ...(secretId === undefined ? [] : [revocationKey('clientSecret', secretId)]),
];

const refused = (): CredentialRefused =>
  new CredentialRefused(
    'credential-refused',
    'The access token is not valid here or has expired. Get a new one from the token endpoint.',
    'Bearer realm="plant-shop", error="invalid_token"',
  );
