import { Injectable } from '@nestjs/common';
import type { SigningKeys } from '@plant-shop/contracts/identity';
import { type Actor, audit } from '@plant-shop/platform/audit/audit-log';
import { Database } from '@plant-shop/platform/postgres/database';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose';
import { Cipher } from '../credentials/cipher.js';
import {
  isCurrent,
  type KeyRing,
  publishedAheadSeconds,
  signingAlgorithm,
  signingKidOf,
  verifiesOnSeconds,
} from './signing-key.js';
import {
  endSigningKeys,
  insertSigningKey,
  listSigningKeys,
  lockSigningKeys,
  type NewSigningKey,
  type SigningKeyRecord,
} from './signing-keys.repository.js';

const purposeOf = (kid: string): string => `signing key ${kid}`;

@Injectable()
export class SigningKeysService {
  constructor(
    private readonly database: Database,
    private readonly cipher: Cipher,
  ) {}

  /** The very first key is made here. */
  async open(): Promise<KeyRing> {
    const keys = await this.database.transaction(async (tx) => {
      await lockSigningKeys(tx);
      if ((await listSigningKeys(tx)).length === 0) await insertSigningKey(tx, await this.generate(), 0);
      return listSigningKeys(tx);
    });
    return this.ringOf(keys);
  }

  /** @returns undefined when the known ring is still the right one */
  async changed(known: KeyRing): Promise<KeyRing | undefined> {
    const keys = await listSigningKeys(this.database);
    return isCurrent(known, keys) ? undefined : this.ringOf(keys);
  }

  async read(): Promise<SigningKeys> {
    const keys = await listSigningKeys(this.database);
    return { keys: keys.map(({ publicJwk }) => ({ ...publicJwk })) };
  }

  /**
   * Makes a key that all replicas publish, and soon sign with; the keys before it go on verifying for as long as tokens
   * of theirs may live.
   * @returns the new key's id
   */
  async rotate(actor: Actor): Promise<string> {
    return this.database.transaction(async (tx) => {
      await lockSigningKeys(tx);
      // With another secret than the replicas have, the new key would be one that they cannot read.
      this.ringOf(await listSigningKeys(tx));
      const made = await this.generate();
      await insertSigningKey(tx, made, publishedAheadSeconds);
      await endSigningKeys(tx, made.kid, verifiesOnSeconds);
      audit(tx, actor, { pattern: 'identity.rotate-signing-key' }, made.kid);
      return made.kid;
    });
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
      encryptedPrivateJwk: this.cipher.encrypt(privateJwk, purposeOf(kid)),
    };
  }
}
