import { Injectable } from '@nestjs/common';
import type { SigningKeys } from '@plant-shop/contracts/identity';
import { type Actor, audit } from '@plant-shop/platform/audit/audit-log';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose';
import { Cipher } from '../credentials/cipher.js';
import { appendRevocations } from '../revocations/revocations.repository.js';
import {
  isCurrent,
  type KeyRing,
  publishedAheadSeconds,
  signingAlgorithm,
  signingKidOf,
  verifiesOnSeconds,
} from './signing-key.js';
import {
  countSigningKeysOfOthers,
  deleteSigningKeys,
  endSigningKeys,
  insertSigningKey,
  listSigningKeys,
  lockSigningKeys,
  lockSigningKeysOfOthers,
  type NewSigningKey,
  replacePrivateJwk,
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

  /**
   * Ends keys that somebody else may have, and in the same moment all that they signed. What signs from now on is the newest of
   * the others, or one that is made here.
   * @param asked the id of a key, or `all` that there are
   * @returns undefined when there is no such key, and nothing was done
   */
  async revoke(actor: Actor, asked: string): Promise<RevokedSigningKeys | undefined> {
    return this.database.transaction(async (tx) => {
      await lockSigningKeys(tx);
      const keys = await listSigningKeys(tx);
      // See `rotate`.
      this.ringOf(keys);
      const revoked = await deleteSigningKeys(tx, asked === 'all' ? keys.map(({ kid }) => kid) : [asked]);
      if (revoked.length === 0) return undefined;
      const signingKid = (await signAtOnce(tx)) ?? (await this.insertAtOnce(tx));
      for (const kid of revoked) audit(tx, actor, { pattern: 'identity.revoke-signing-key' }, kid);
      await appendRevocations(tx, revoked.map((kid) => ({ kind: 'signingKey', id: kid })));
      return { revoked, signingKid };
    });
  }

  /** Private keys that a former secret encrypted are encrypted with the present one. @returns how many are left */
  async sealAnew(): Promise<number> {
    await this.database.transaction(async (tx) => {
      for (const { kid, encryptedPrivateJwk } of await lockSigningKeysOfOthers(tx, this.cipher.keyId)) {
        const anew = this.cipher.encryptAnew(encryptedPrivateJwk, purposeOf(kid));
        if (anew) await replacePrivateJwk(tx, kid, anew);
      }
    });
    return countSigningKeysOfOthers(this.database, this.cipher.keyId);
  }

  private async insertAtOnce(tx: Transaction): Promise<string> {
    const made = await this.generate();
    await insertSigningKey(tx, made, 0);
    return made.kid;
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
