import { Controller, Injectable } from '@nestjs/common';
import { identity, type SigningKeys } from '@plant-shop/contracts/identity';
import { type Actor, audit } from '@plant-shop/platform/patterns/audit-log';
import { Cipher } from '@plant-shop/platform/cipher';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose';
import { appendRevocations } from '../revocations/revocations.js';
import { isCurrent, type KeyRing, publishedAheadSeconds, retiredKeyTtlSeconds, signingAlgorithm, signingKidOf } from './signing-key.js';
import {
  countSigningKeysToReencrypt,
  deleteSigningKeys,
  insertSigningKey,
  listSigningKeys,
  lockSigningKeys,
  lockSigningKeysToReencrypt,
  type NewSigningKey,
  replacePrivateJwk,
  retireSigningKeys,
  signAtOnce,
  type SigningKeyRecord,
} from './signing-keys.repository.js';

const purposeOf = (kid: string): string => `signing key ${kid}`;

export interface RevokedSigningKeys {
  readonly revoked: readonly string[];
  readonly signingKid: string;
}

@Injectable()
export class SigningKeysService {
  constructor(
    private readonly database: Database,
    private readonly cipher: Cipher,
  ) {}

  /** Returns the key ring. Creates the first signing key if there is none. */
  async loadOrCreate(): Promise<KeyRing> {
    const keys = await this.database.transaction(async (tx) => {
      await lockSigningKeys(tx);
      if ((await listSigningKeys(tx)).length === 0) await insertSigningKey(tx, await this.generate(), 0);
      return listSigningKeys(tx);
    });
    return this.ringOf(keys);
  }

  /** Returns the new key ring, or undefined when the known one is still current. */
  async reloadIfChanged(known: KeyRing): Promise<KeyRing | undefined> {
    const keys = await listSigningKeys(this.database);
    return isCurrent(known, keys) ? undefined : this.ringOf(keys);
  }

  async read(): Promise<SigningKeys> {
    const keys = await listSigningKeys(this.database);
    return { keys: keys.map(({ publicJwk }) => ({ ...publicJwk })) };
  }

  /**
   * Creates a signing key. Replicas publish it now and sign with it later; older keys verify until their last tokens have
   * expired.
   * @returns the id of the new key
   */
  async rotate(actor: Actor): Promise<string> {
    return this.database.transaction(async (tx) => {
      await lockSigningKeys(tx);
      // Fails if IDENTITY_SECRET differs from the replicas': they could not decrypt the new key.
      this.ringOf(await listSigningKeys(tx));
      const key = await this.generate();
      await insertSigningKey(tx, key, publishedAheadSeconds);
      await retireSigningKeys(tx, key.kid, retiredKeyTtlSeconds);
      audit(tx, actor, { pattern: 'identity.rotate-signing-key' }, key.kid);
      return key.kid;
    });
  }

  /**
   * Revokes leaked keys and all tokens that they signed. From then on the key without a successor signs; if it is revoked,
   * a new key is created.
   * @param kidOrAll the id of a key, or `all`
   * @returns undefined, without an effect, when there is no such key
   */
  async revoke(actor: Actor, kidOrAll: string): Promise<RevokedSigningKeys | undefined> {
    return this.database.transaction(async (tx) => {
      await lockSigningKeys(tx);
      const keys = await listSigningKeys(tx);
      // See `rotate`.
      this.ringOf(keys);
      const revoked = await deleteSigningKeys(tx, kidOrAll === 'all' ? keys.map(({ kid }) => kid) : [kidOrAll]);
      if (revoked.length === 0) return undefined;
      const signingKid = (await signAtOnce(tx)) ?? (await this.insertSigningNow(tx));
      for (const kid of revoked) audit(tx, actor, { pattern: 'identity.revoke-signing-key' }, kid);
      await appendRevocations(tx, revoked.map((kid) => ({ kind: 'signingKey', id: kid })));
      return { revoked, signingKid };
    });
  }

  /** Re-encrypts private keys of former secrets with the current one. @returns the number of keys still to do */
  async reencrypt(): Promise<number> {
    await this.database.transaction(async (tx) => {
      for (const { kid, encryptedPrivateJwk } of await lockSigningKeysToReencrypt(tx, this.cipher.keyId)) {
        const reencrypted = this.cipher.reencrypt(encryptedPrivateJwk, purposeOf(kid));
        if (reencrypted) await replacePrivateJwk(tx, kid, reencrypted);
      }
    });
    return countSigningKeysToReencrypt(this.database, this.cipher.keyId);
  }

  private async insertSigningNow(tx: Transaction): Promise<string> {
    const key = await this.generate();
    await insertSigningKey(tx, key, 0);
    return key.kid;
  }

  private ringOf(keys: readonly SigningKeyRecord[]): KeyRing {
    const jwks = keys.map(
      ({ kid, encryptedPrivateJwk }) => JSON.parse(this.cipher.decrypt(encryptedPrivateJwk, purposeOf(kid))) as JWK,
    );
    return { signingKid: signingKidOf(keys), jwks };
  }

  private async generate(): Promise<NewSigningKey> {
    const { publicKey, privateKey } = await generateKeyPair(signingAlgorithm, { extractable: true });
    const publicPart = await exportJWK(publicKey);
    const kid = await calculateJwkThumbprint(publicPart);
    const about = { kid, alg: signingAlgorithm, use: 'sig' };
    const privateJwk = JSON.stringify({ ...(await exportJWK(privateKey)), ...about });
    return {
      kid,
      publicJwk: { ...publicPart, ...about },
      privateJwk: this.cipher.encrypt(privateJwk, purposeOf(kid)),
    };
  }
}

@Controller()
export class SigningKeysController {
  constructor(private readonly keys: SigningKeysService) {}

  @Answers(identity.readSigningKeys)
  readSigningKeys(): Promise<SigningKeys> {
    return this.keys.read();
  }
}
