import { Injectable } from '@nestjs/common';
import { Database } from '@plant-shop/platform/postgres/database';
import type { Adapter, AdapterPayload } from 'oidc-provider';
import { sha256 } from '../credentials/secret.js';
import { Cipher } from '../credentials/cipher.js';
import { findClient } from './oauth-clients.repository.js';
import {
  consumePayload,
  deletePayload,
  deletePayloadsOfGrant,
  findPayload,
  type PayloadKey,
  upsertPayload,
} from './payloads.repository.js';

/** Where the provider keeps its state: one adapter for each of its models. */
@Injectable()
export class Adapters {
  constructor(
    private readonly database: Database,
    private readonly cipher: Cipher,
  ) {}

  of(model: string): Adapter {
    return model === 'Client'
      ? new ClientAdapter(this.database)
      : new PayloadAdapter(this.database, this.cipher, model);
  }
}

/** Name under which a client's metadata carries the user that its tokens act for. */
export const ownerMetadata = 'owner_user_id';

const onlyRead = (): never => {
  throw new Error('clients are not changed by the provider');
};

class ClientAdapter implements Adapter {
  constructor(private readonly database: Database) {}

  async find(id: string): Promise<AdapterPayload | undefined> {
    const client = await findClient(this.database, id);
    return (
      client && {
        client_id: client.clientId,
        // The hash: what is shown is compared with it by ClientSecrets.
        client_secret: client.secretHash,
        scope: client.scopes.join(' '),
        grant_types: ['client_credentials'],
        response_types: [],
        redirect_uris: [],
        [ownerMetadata]: client.userId,
      }
    );
  }

  readonly upsert = onlyRead;
  readonly findByUserCode = onlyRead;
  readonly findByUid = onlyRead;
  readonly consume = onlyRead;
  readonly destroy = onlyRead;
  readonly revokeByGrantId = onlyRead;
}

class PayloadAdapter implements Adapter {
  constructor(
    private readonly database: Database,
    private readonly cipher: Cipher,
    private readonly model: string,
  ) {}

  async upsert(id: string, payload: AdapterPayload, expiresIn?: number): Promise<void> {
    const idHash = sha256(id);
    await this.database.transaction((tx) =>
      upsertPayload(tx, {
        model: this.model,
        idHash,
        payload: this.cipher.encrypt(JSON.stringify(payload), this.purposeOf(idHash)),
        grantHash: hashOf(payload.grantId),
        uidHash: hashOf(payload.uid),
        userCodeHash: hashOf(payload.userCode),
        expiresInSeconds: expiresIn,
      }),
    );
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

  consume(id: string): Promise<void> {
    return this.database.transaction((tx) => consumePayload(tx, this.model, sha256(id)));
  }

  destroy(id: string): Promise<void> {
    return this.database.transaction((tx) => deletePayload(tx, this.model, sha256(id)));
  }

  revokeByGrantId(grantId: string): Promise<void> {
    return this.database.transaction((tx) => deletePayloadsOfGrant(tx, sha256(grantId)));
  }

  private async findBy(key: PayloadKey, value: string): Promise<AdapterPayload | undefined> {
    const row = await findPayload(this.database, this.model, key, sha256(value));
    if (!row) return undefined;
    const payload = JSON.parse(this.cipher.decrypt(row.payload, this.purposeOf(row.idHash))) as AdapterPayload;
    return row.consumedAt ? { ...payload, consumed: Math.floor(row.consumedAt.getTime() / 1_000) } : payload;
  }

  private purposeOf(idHash: Buffer): string {
    return `${this.model} ${idHash.toString('base64url')}`;
  }
}

const hashOf = (value: string | undefined): Buffer | undefined => (value === undefined ? undefined : sha256(value));
