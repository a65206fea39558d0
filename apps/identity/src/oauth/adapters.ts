import { Injectable } from '@nestjs/common';
import { Database } from '@plant-shop/platform/postgres/database';
import { constraintOf } from '@plant-shop/platform/postgres/sqlstate';
import { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import { sha256 } from '../credentials/secret.js';
import { Cipher } from '../credentials/cipher.js';
import { DatabaseClock } from '../credentials/database-clock.js';
import { areRevoked } from '../revocations/revocations.repository.js';
import type { AccessTokenReader } from './access-token.js';
import { GrantsService } from './grants.service.js';
import { metadataOf } from './oauth-client.js';
import { OAuthClientEntity } from './oauth-client.entity.js';
import {
  consumePayload,
  countPayloadsOfOthers,
  deletePayload,
  findGrantOf,
  findPayload,
  hasUsed,
  lockPayloadsOfKeys,
  type PayloadKey,
  replacePayloads,
  upsertPayload,
} from './payloads.repository.js';
import { toDatabaseTime, toHostTime } from './provider-times.js';

/** Where the provider keeps its state: one adapter for each of its models. */
@Injectable()
export class Adapters {
  constructor(
    private readonly database: Database,
    private readonly cipher: Cipher,
    private readonly grants: GrantsService,
    private readonly clock: DatabaseClock,
  ) {}

  of(model: string, readToken: AccessTokenReader): Adapter {
    switch (model) {
      case 'Client':
        return new ClientAdapter(this.database);
      case 'AccessToken':
      case 'ClientCredentials':
        return new AccessTokenAdapter(this.database, this.grants, this.clock, model, readToken);
      default:
        return new PayloadAdapter(this.database, this.cipher, this.grants, this.clock, model);
    }
  }

  /** What a former secret encrypted is encrypted with the present one. @returns how much is left */
  async sealAnew(): Promise<number> {
    let last: { readonly model: string; readonly idHash: Buffer } | undefined;
    do {
      last = await this.database.transaction(async (tx) => {
        const former = await lockPayloadsOfKeys(tx, this.cipher.formerKeyIds, last, sealedAtOnce);
        const anew = former.flatMap(({ model, idHash, payload }) => {
          const encrypted = this.cipher.encryptAnew(payload, purposeOf(model, idHash));
          return encrypted ? [{ model, idHash, payload: encrypted }] : [];
        });
        if (anew.length > 0) await replacePayloads(tx, anew);
        return former.length === sealedAtOnce ? former.at(-1) : undefined;
      });
    } while (last);
    return countPayloadsOfOthers(this.database, this.cipher.keyId);
  }
}

/** In one transaction, which holds their rows. */
const sealedAtOnce = 200;

const unused = (): never => {
  throw new Error('the provider does not do this with our configuration');
};

class ClientAdapter implements Adapter {
  constructor(private readonly database: Database) {}

  async find(id: string): Promise<AdapterPayload | undefined> {
    // Text in Postgres holds no NUL; the name of no client does.
    if (id.includes('\0')) return undefined;
    const client = await this.database.repository(OAuthClientEntity).findOneBy({ clientId: id });
    return client ? metadataOf(client) : undefined;
  }

  readonly upsert = unused;
  readonly findByUserCode = unused;
  readonly findByUid = unused;
  readonly consume = unused;
  readonly destroy = unused;
  readonly revokeByGrantId = unused;
}

/** Access tokens are JWTs: what they say is read from them, and what ends them from the revocation log. */
class AccessTokenAdapter implements Adapter {
  constructor(
    private readonly database: Database,
    private readonly grants: GrantsService,
    private readonly clock: DatabaseClock,
    private readonly model: 'AccessToken' | 'ClientCredentials',
    private readonly readToken: AccessTokenReader,
  ) {}

  /** @param value what unstructured.ts made of the JWT */
  async find(value: string): Promise<AdapterPayload | undefined> {
    const token = await this.readToken(value);
    if (token?.payload.kind !== this.model) return undefined;
    return (await areRevoked(this.database, token.endedBy)) ? undefined : toHostTime(this.clock, token.payload);
  }

  destroy(jti: string): Promise<void> {
    return this.grants.endAccessToken(jti);
  }

  revokeByGrantId(grantId: string): Promise<void> {
    return this.grants.end(grantId);
  }

  readonly upsert = unused;
  readonly findByUserCode = unused;
  readonly findByUid = unused;
  readonly consume = unused;
}

class PayloadAdapter implements Adapter {
  constructor(
    private readonly database: Database,
    private readonly cipher: Cipher,
    private readonly grants: GrantsService,
    private readonly clock: DatabaseClock,
    private readonly model: string,
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
          clientId: payload.clientId,
          uidHash: hashOf(payload.uid),
          userCodeHash: hashOf(payload.userCode),
          expiresInSeconds: expiresIn,
        }),
      );
    } catch (error) {
      if (ownersGone.has(constraintOf(error) ?? '')) throw new errors.InvalidGrant('the user or the client is gone');
      throw error;
    }
  }

  find(id: string): Promise<AdapterPayload | undefined> {
    return this.findBy('id_hash', id);
  }

  findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return this.findBy('uid_hash', uid);
  }

  findByUserCode(userCode: string): Promise<AdapterPayload | undefined> {
    return this.findBy('user_code_hash', userCode);
  }

  /**
   * The provider has looked before whether it is consumed; of two that show the same code or token at the same moment,
   * both have found that it is not. Who loses has reused it, and ends the grant.
   */
  async consume(id: string): Promise<void> {
    const idHash = sha256(id);
    if (this.model === 'RefreshToken' && (await hasUsed(this.database, { model: this.model, idHash }, maxUsedTokens))) {
      throw new errors.InvalidGrant('refreshed too often: ask the user anew');
    }
    if (await this.database.transaction((tx) => consumePayload(tx, this.model, idHash))) return;
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

  private async findBy(key: PayloadKey, value: string): Promise<AdapterPayload | undefined> {
    const row = await findPayload(this.database, this.model, key, sha256(value));
    if (!row) return undefined;
    const kept = JSON.parse(this.cipher.decrypt(row.payload, purposeOf(this.model, row.idHash))) as AdapterPayload;
    const payload = row.consumedAt ? { ...kept, consumed: Math.floor(row.consumedAt.getTime() / 1_000) } : kept;
    return toHostTime(this.clock, payload);
  }
}

const purposeOf = (model: string, idHash: Buffer): string => `${model} ${idHash.toString('base64url')}`;

/**
 * Of one grant, in the 30 days that each is kept: one of them that is shown again ends the grant, so none may be forgotten
 * early. An application that refreshes when its access token ends, after an hour, uses 720.
 */
const maxUsedTokens = 2_000;

const ownersGone: ReadonlySet<string> = new Set(['oauth_payloads_user', 'oauth_payloads_client']);

const hashOf = (value: string | undefined): Buffer | undefined => (value === undefined ? undefined : sha256(value));
