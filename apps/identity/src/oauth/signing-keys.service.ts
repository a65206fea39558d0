import { Injectable } from '@nestjs/common';
import type { SigningKeys } from '@plant-shop/contracts/identity';
import { Database } from '@plant-shop/platform/postgres/database';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose';
import { Cipher } from './cipher.js';
import {
  insertSigningKey,
  listSigningKeys,
  lockSigningKeys,
  type SigningKeyRecord,
} from './signing-keys.repository.js';

/** ECDSA on P-256: every JWT library has it, and it signs 20 times as fast as RSA of that strength. */
export const signingAlgorithm = 'ES256';

const purposeOf = (kid: string): string => `signing key ${kid}`;

@Injectable()
export class SigningKeysService {
  constructor(
    private readonly database: Database,
    private readonly cipher: Cipher,
  ) {}

  /** Private keys, newest first; the very first one is made here. */
  async open(): Promise<JWK[]> {
    const keys = await this.database.transaction(async (tx) => {
      await lockSigningKeys(tx);
      const found = await listSigningKeys(tx);
      if (found.length > 0) return found;
      const made = await this.generate();
      await insertSigningKey(tx, made);
      return [made];
    });
    return keys.map((key) => JSON.parse(this.cipher.decrypt(key.encryptedPrivateJwk, purposeOf(key.kid))) as JWK);
  }

  async read(): Promise<SigningKeys> {
    const keys = await listSigningKeys(this.database);
    return { keys: keys.map(({ publicJwk }) => ({ ...publicJwk })) };
  }

  private async generate(): Promise<SigningKeyRecord> {
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
