import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Cipher } from '@plant-shop/platform/cipher';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import encodeQR from 'qr';
import { Secret, TOTP } from 'otpauth';
import { readDatabaseTime } from '../database-clock.js';
import { MailOutbox } from '../mail/outbox.js';
import { sha256 } from '../secrets/secrets.js';
import { countRecoveryCodes, countSecretsToReencrypt, findTotp, lockSecretsToReencrypt, replaceRecoveryCodes, replaceSecret, useRecoveryCode, useTotpStep } from './factors.repository.js';

const period = 30;
/** Steps before and after the present one whose codes are accepted: clocks differ, and people type slowly. */
const window = 1;
const secretBytes = 20;

const recoveryCodes = 10;
/** Crockford's alphabet: it has no letters that look like digits. 20 of these letters are 100 bits. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const recoveryLength = 20;
const recoveryGroup = 5;

/** Secrets re-encrypted in one transaction. */
const reencryptBatch = 200;

/** The associated text of a secret's encryption. */
export const secretOf = (factorId: string): string => `factor ${factorId}`;

const totpOf = (secret: string, username = ''): TOTP =>
  new TOTP({ issuer: 'Plant shop', label: username, algorithm: 'SHA1', digits: 6, period, secret: Secret.fromBase32(secret) });

/** Returns a new secret for an authenticator app, in base32. */
export const newTotpSecret = (): string => new Secret({ size: secretBytes }).base32;

/** Returns the picture that an app scans, as an SVG without style or script, and the secret to type instead. */
export function totpPicture(secret: string, username: string): { readonly svg: string; readonly typed: string } {
  const svg = encodeQR(totpOf(secret, username).toString(), 'svg', { ecc: 'medium', border: 4 });
  return { svg: svg.slice(svg.indexOf('<svg')), typed: (secret.match(/.{1,4}/g) ?? []).join(' ') };
}

/** Returns the time step whose code this is, of those near a time; undefined if it is the code of none. @param at in milliseconds since the epoch */
export function stepOf(secret: string, code: string, at: number): number | undefined {
  const delta = totpOf(secret).validate({ token: code, timestamp: at, window });
  return delta === null ? undefined : Math.floor(at / 1_000 / period) + delta;
}

const totpForm = /^\d{6}$/;

/** One-time passwords (TOTP, RFC 6238) of apps, and recovery codes. Callers must limit guesses: `LoginAttempts.runForCode`. */
@Injectable()
export class OneTimeCodes {
  constructor(
    private readonly database: Database,
    private readonly cipher: Cipher,
    private readonly outbox: MailOutbox,
  ) {}

  /** Checks a code of the user's app, or a recovery code, of whose use the user is told; and uses it up. @param address of the client */
  check(userId: string, typed: string, address: string): Promise<boolean> {
    const code = typed.replaceAll(/[\s-]/g, '');
    return this.database.transaction(async (tx) => {
      if (totpForm.test(code)) return this.useTotp(tx, userId, code);
      if (!(await useRecoveryCode(tx, userId, hashOfRecoveryCode(code)))) return false;
      await this.outbox.noticeTo(tx, userId, 'recovery-code-used', { codesLeft: String(await countRecoveryCodes(tx, userId)), from: address });
      return true;
    });
  }

  private async useTotp(tx: Transaction, userId: string, code: string): Promise<boolean> {
    const found = await findTotp(tx, userId);
    if (!found) return false;
    const step = stepOf(this.cipher.decrypt(found.secret, secretOf(found.id)), code, await readDatabaseTime(tx));
    return step !== undefined && useTotpStep(tx, found.id, step);
  }

  /** Replaces the recovery codes of a user. @returns the new ones, which are stored only as hashes */
  async replaceRecoveryCodes(tx: Transaction, userId: string): Promise<string[]> {
    const codes = Array.from({ length: recoveryCodes }, newRecoveryCode);
    await replaceRecoveryCodes(tx, userId, codes.map(hashOfRecoveryCode));
    return codes;
  }

  /** Re-encrypts secrets of former secrets of IDENTITY_SECRET with the current one. @returns the number still to do */
  async reencrypt(): Promise<number> {
    let last: string | undefined;
    do {
      last = await this.database.transaction(async (tx) => {
        const former = await lockSecretsToReencrypt(tx, this.cipher.formerKeyIds, last, reencryptBatch);
        for (const { id, secret } of former) {
          const encrypted = this.cipher.reencrypt(secret, secretOf(id));
          if (encrypted) await replaceSecret(tx, id, encrypted);
        }
        return former.length === reencryptBatch ? former.at(-1)?.id : undefined;
      });
    } while (last !== undefined);
    return countSecretsToReencrypt(this.database, this.cipher.keyId);
  }
}

function newRecoveryCode(): string {
  const letters = Array.from(randomBytes(recoveryLength), (byte) => alphabet[byte % alphabet.length]).join('');
  return (letters.match(new RegExp(`.{${recoveryGroup}}`, 'g')) ?? []).join('-');
}

/** Without spaces and hyphens, regardless of case, and with letters that look like digits taken for them. */
const hashOfRecoveryCode = (typed: string): Buffer =>
  sha256(`recovery code ${typed.toUpperCase().replaceAll(/[^\dA-Z]/g, '').replaceAll('O', '0').replaceAll(/[IL]/g, '1')}`);
