import { Inject, Injectable } from '@nestjs/common';
import { Cipher } from '@plant-shop/platform/cipher';
import { Database } from '@plant-shop/platform/postgres/database';
import { constraintOf } from '@plant-shop/platform/postgres/sqlstate';
import { type Adapter, type AdapterPayload, errors, Provider } from 'oidc-provider';
import { sha256 } from '../secrets/secrets.js';
import { DatabaseClock } from '../database-clock.js';
import { findRole } from '../credentials/credentials.repository.js';
import { IDENTITY_OPTIONS, type IdentityOptions, type IdleHours } from '../options.js';
import { areRevoked } from '../revocations/revocations.js';
import type { AccessTokenVerifier } from './access-token.js';
import { consumePayload, countPayloadsToReencrypt, deletePayload, findGrantOf, findPayload, hasUsedRefreshTokens, lockPayloadsToReencrypt, type PayloadIdColumn, replacePayloads, upsertPayload } from '../grants/payloads.repository.js';
import { GrantsService } from '../grants/grants.service.js';
import { accountClientId, metadataOf } from './oauth-client.js';
import { OAuthClientEntity } from '../database.js';
import { toDatabaseTime, toHostTime } from './provider-times.js';

/** Storage of the provider: creates an adapter for each of its models. */
@Injectable()
export class Adapters {
  constructor(
    private readonly database: Database,
    private readonly cipher: Cipher,
    private readonly grants: GrantsService,
    private readonly clock: DatabaseClock,
    @Inject(IDENTITY_OPTIONS) private readonly options: IdentityOptions,
  ) {}

  of(model: string, verifyToken: AccessTokenVerifier): Adapter {
    switch (model) {
      case 'Client':
        return new ClientAdapter(this.database);
      case 'AccessToken':
      case 'ClientCredentials':
        return new AccessTokenAdapter(this.database, this.grants, this.clock, model, verifyToken);
      default:
        return new PayloadAdapter(this.database, this.cipher, this.grants, this.clock, model, (token) => this.successorOf(token), this.options.idleHours);
    }
  }

  /** Returns the refresh token that replaces another: always the same, so that a repeated refresh begins no second chain of tokens. */
  successorOf(refreshToken: string): string {
    return this.cipher.fingerprint(`refresh token after ${refreshToken}`).toString('base64url');
  }

  /** Re-encrypts payloads of former secrets with the current one. @returns the number of payloads still to do */
  async reencrypt(): Promise<number> {
    let last: { readonly model: string; readonly idHash: Buffer } | undefined;
    do {
      last = await this.database.transaction(async (tx) => {
        const former = await lockPayloadsToReencrypt(tx, this.cipher.formerKeyIds, last, reencryptBatchSize);
        const reencrypted = former.flatMap(({ model, idHash, payload }) => {
          const encrypted = this.cipher.reencrypt(payload, purposeOf(model, idHash));
          return encrypted ? [{ model, idHash, payload: encrypted }] : [];
        });
        if (reencrypted.length > 0) await replacePayloads(tx, reencrypted);
        return former.length === reencryptBatchSize ? former.at(-1) : undefined;
      });
    } while (last);
    return countPayloadsToReencrypt(this.database, this.cipher.keyId);
  }
}

/** Payloads re-encrypted in one transaction, which locks their rows. */
const reencryptBatchSize = 200;

const notSupported = (): never => {
  throw new Error('the provider does not call this with our configuration');
};

class ClientAdapter implements Adapter {
  constructor(private readonly database: Database) {}

  async find(id: string): Promise<AdapterPayload | undefined> {
    // Postgres text cannot contain NUL, so no client id does.
    if (id.includes('\0')) return undefined;
    const client = await this.database.repository(OAuthClientEntity).findOneBy({ clientId: id });
    return client ? metadataOf(client) : undefined;
  }

  readonly upsert = notSupported;
  readonly findByUserCode = notSupported;
  readonly findByUid = notSupported;
  readonly consume = notSupported;
  readonly destroy = notSupported;
  readonly revokeByGrantId = notSupported;
}

/** Access tokens are JWTs and not stored: claims come from the token, revocations from the log. */
class AccessTokenAdapter implements Adapter {
  constructor(
    private readonly database: Database,
    private readonly grants: GrantsService,
    private readonly clock: DatabaseClock,
    private readonly model: 'AccessToken' | 'ClientCredentials',
    private readonly verifyToken: AccessTokenVerifier,
  ) {}

  /** @param value the JWT as encoded by `toOpaque` */
  async find(value: string): Promise<AdapterPayload | undefined> {
    const token = await this.verifyToken(value);
    if (token?.payload.kind !== this.model || (await areRevoked(this.database, token.revokedBy))) return undefined;
    const payload = toHostTime(this.clock, token.payload);
    // The provider's UserInfo endpoint refuses tokens that name an audience.
    if (Provider.ctx?.oidc.route === 'userinfo') delete payload.aud;
    return payload;
  }

  destroy(jti: string): Promise<void> {
    return this.grants.endAccessToken(jti);
  }

  revokeByGrantId(grantId: string): Promise<void> {
    return this.grants.end(grantId);
  }

  readonly upsert = notSupported;
  readonly findByUserCode = notSupported;
  readonly findByUid = notSupported;
  readonly consume = notSupported;
}

class PayloadAdapter implements Adapter {
  constructor(
    private readonly database: Database,
    private readonly cipher: Cipher,
    private readonly grants: GrantsService,
    private readonly clock: DatabaseClock,
    private readonly model: string,
    private readonly successorOf: (refreshToken: string) => string,
    private readonly idle: IdleHours,
  ) {}

  async upsert(id: string, payload: AdapterPayload, expiresIn?: number): Promise<void> {
    const idHash = sha256(id);
    try {
      await this.database.transaction((tx) =>
        upsertPayload(tx, {
          model: this.model,
          idHash,
          payload: this.cipher.encrypt(JSON.stringify(toDatabaseTime(this.clock, payload)), purposeOf(this.model, idHash)),
          grantId: this.model === 'Grant' ? id : payload.grantId,
          userId: payload.accountId,
          clientId: payload.clientId === accountClientId ? undefined : payload.clientId,
          uidHash: hashOf(payload.uid),
          expiresInSeconds: expiresIn,
        }),
      );
    } catch (error) {
      if (ownerConstraints.has(constraintOf(error) ?? '')) throw new errors.InvalidGrant('the user or the client was deleted');
      throw error;
    }
  }

  find(id: string): Promise<AdapterPayload | undefined> {
    return this.findBy('id_hash', id);
  }

  findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return this.findBy('uid_hash', uid);
  }

  // There is no device flow.
  readonly findByUserCode = notSupported;

  /**
   * Marks a code or refresh token as used. The provider has checked before that a code is unused, but two concurrent requests can
   * both pass that check. The request that loses here has reused the token, so it ends the grant. A refresh whose answer was lost
   * may be repeated for 10 s, until the client uses the successor: then the answer has arrived.
   */
  async consume(id: string): Promise<void> {
    const idHash = sha256(id);
    if (this.model === 'RefreshToken' && (await hasUsedRefreshTokens(this.database, { model: this.model, idHash }, maxUsedRefreshTokens))) {
      throw new errors.InvalidGrant('too many refreshes: ask the user for consent again');
    }
    const successor = this.model === 'RefreshToken' ? sha256(this.successorOf(id)) : undefined;
    if (await this.database.transaction((tx) => consumePayload(tx, this.model, idHash, successor))) return;
    const grantId = await findGrantOf(this.database, this.model, idHash);
    if (grantId !== undefined) await this.grants.end(grantId);
    throw new errors.InvalidGrant('already used');
  }

  destroy(id: string): Promise<void> {
    if (this.model === 'Grant') return this.grants.end(id);
    return this.database.transaction((tx) => deletePayload(tx, this.model, sha256(id)));
  }

  revokeByGrantId(grantId: string): Promise<void> {
    return this.grants.end(grantId);
  }

  private async findBy(key: PayloadIdColumn, value: string): Promise<AdapterPayload | undefined> {
    const row = await findPayload(this.database, this.model, key, sha256(value));
    if (!row) return undefined;
    const stored = JSON.parse(this.cipher.decrypt(row.payload, purposeOf(this.model, row.idHash))) as AdapterPayload;
    if (this.model === 'RefreshToken' && (await this.isIdle(stored))) return undefined;
    const isUsed = row.consumedAt !== null && !(await this.leavesUseToConsume(stored));
    return toHostTime(this.clock, isUsed ? { ...stored, consumed: Math.floor(row.consumedAt.getTime() / 1_000) } : stored);
  }

  /** Whether a refresh token was not used for too long. Each use replaces it, so that it is as old as the last use. */
  private async isIdle({ accountId, iat }: AdapterPayload): Promise<boolean> {
    if (accountId === undefined || iat === undefined) return false;
    const found = await findRole(this.database, accountId);
    const hours = found?.role === 'customer' ? this.idle.customer : this.idle.staff;
    return this.clock.now() / 1_000 - iat > hours * 3_600;
  }

  /** Whether `consume` decides about a used refresh token. One that another client presents ends the grant here: the provider only refuses it. */
  private async leavesUseToConsume({ clientId, grantId }: AdapterPayload): Promise<boolean> {
    const { oidc } = Provider.ctx ?? {};
    if (this.model !== 'RefreshToken' || oidc?.route !== 'token') return false;
    if (oidc.client?.clientId === clientId) return true;
    if (grantId !== undefined) await this.grants.end(grantId);
    return false;
  }
}

/** The associated text of a payload's encryption. */
export const purposeOf = (model: string, idHash: Buffer): string => `${model} ${idHash.toString('base64url')}`;

/**
 * Maximum number of used refresh tokens stored per grant, each for 30 days. Reusing any of them must end the grant, so none
 * may be deleted early. An application that refreshes hourly, when its access token expires, uses 720.
 */
const maxUsedRefreshTokens = 2_000;

const ownerConstraints: ReadonlySet<string> = new Set(['oauth_payloads_user', 'oauth_payloads_client']);

const hashOf = (value: string | undefined): Buffer | undefined => (value === undefined ? undefined : sha256(value));
