import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { identity } from '@plant-shop/contracts/identity';
import { Cipher } from '@plant-shop/platform/cipher';
import { CodedError, invalidInput } from '@plant-shop/platform/errors';
import { type Actor, audit } from '@plant-shop/platform/patterns/audit-log';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import { readDatabaseTime } from '../database-clock.js';
import { type Addressee, MailOutbox } from '../mail/outbox.js';
import { newTotpSecret, OneTimeCodes, secretOf, stepOf } from './codes.js';
import { deleteFactor, type FactorRecord, findTotp, insertPasskey, insertTotp, listFactors } from './factors.repository.js';
import { methodOf, type PasskeyProof, Passkeys } from './passkeys.js';

/** Factors that a user may have. */
export const maxFactors = 20;
export const maxFactorName = 100;

/** Who adds a factor, and on which page. */
export interface Enrolment {
  readonly user: Addressee;
  /** The page and the browser. */
  readonly place: string;
  readonly actor: Actor;
  /** Of the client. */
  readonly address: string;
  /** The user must have no other factor. */
  readonly isFirst: boolean;
}

/** A factor that was added. */
export interface Enrolled {
  readonly factor: FactorRecord;
  /** How it was proven, as in RFC 8176. */
  readonly method: 'otp' | PasskeyProof['method'];
  /** With the first factor: the recovery codes, which are not stored. */
  readonly codes?: readonly string[];
}

/** Adds and removes second factors. */
@Injectable()
export class Factors {
  /** Counts factors that were added and removed, for a metric. */
  onChange: ((change: 'added' | 'removed') => void) | undefined;

  constructor(
    private readonly database: Database,
    private readonly cipher: Cipher,
    private readonly codes: OneTimeCodes,
    private readonly passkeys: Passkeys,
    private readonly outbox: MailOutbox,
  ) {}

  /**
   * Makes the secret of an app, sealed for the page that has it until the user types a code.
   * @param secret the one that the page had before
   */
  newTotp(place: string, userId: string, secret = newTotpSecret()): { readonly secret: string; readonly sealed: string } {
    return { secret, sealed: this.cipher.encrypt(secret, sealedFor(place, userId)).bytes.toString('base64url') };
  }

  /** Opens a sealed secret. @returns undefined if it is not from this page and browser, and for this user */
  private openTotp(place: string, userId: string, sealed: string): string | undefined {
    try {
      return this.cipher.decrypt(Buffer.from(sealed, 'base64url'), sealedFor(place, userId));
    } catch {
      // Made up, from another page, or encrypted with a secret that is gone: the page makes a new one.
      return undefined;
    }
  }

  /**
   * Adds the factor of a form: the passkey that the browser has made, or the app whose code the user has typed.
   * @returns nothing if the passkey or the code is refused; then the app's secret, to try again
   * @throws CodedError `invalid-input` for a bad name, or too many factors
   */
  async addFrom(fields: ReadonlyMap<string, string>, enrolment: Enrolment): Promise<{ readonly enrolled?: Enrolled | undefined; readonly secret?: string }> {
    const name = (fields.get('name') ?? '').trim();
    if (name === '' || name.length > maxFactorName) throw invalidInput([{ pointer: '/name', detail: `must have 1 to ${maxFactorName} characters` }]);
    if (fields.get('action') === 'add-passkey') return { enrolled: await this.addPasskey(enrolment, name, fields.get('credential') ?? '') };
    const secret = this.openTotp(enrolment.place, enrolment.user.userId, fields.get('app') ?? '');
    return secret === undefined ? {} : { secret, enrolled: await this.addTotp(enrolment, name, secret, fields.get('code') ?? '') };
  }

  private async addTotp(enrolment: Enrolment, name: string, secret: string, code: string): Promise<Enrolled | undefined> {
    const { userId } = enrolment.user;
    const enrolled = await this.add(enrolment, 'otp', async (tx) => {
      const step = stepOf(secret, code.replaceAll(/\s/g, ''), await readDatabaseTime(tx));
      if (step === undefined) return undefined;
      const id = randomUUID();
      return insertTotp(tx, { id, userId, name, secret: this.cipher.encrypt(secret, secretOf(id)), step });
    });
    const present = enrolled ? undefined : await findTotp(this.database, userId);
    if (!present) return enrolled;
    if (this.cipher.decrypt(present.secret, secretOf(present.id)) === secret) return this.addedBefore(enrolment, present.id);
    throw new CodedError('invalid-input', 'The account has an authenticator app already. Remove it first.');
  }

  /** Of a form that was sent twice: the browser shows only the second answer, so nobody has seen the recovery codes of the first. */
  private async addedBefore({ user, actor }: Enrolment, id: string): Promise<Enrolled | undefined> {
    const factors = await listFactors(this.database, user.userId);
    const factor = factors.find((one) => one.id === id);
    const codes = factors.length === 1 ? await this.newRecoveryCodes(user, actor) : undefined;
    return factor && { factor, method: 'otp', ...(codes && { codes }) };
  }

  private async addPasskey(enrolment: Enrolment, name: string, answer: string): Promise<Enrolled | undefined> {
    const made = await this.passkeys.created(enrolment.place, enrolment.user.userId, answer);
    if (!made) return undefined;
    return this.add(enrolment, methodOf(made), (tx) => insertPasskey(tx, { ...made, name }));
  }

  private async add({ user, actor, address, isFirst }: Enrolment, method: Enrolled['method'], insert: (tx: Transaction) => Promise<FactorRecord | undefined>): Promise<Enrolled | undefined> {
    const enrolled = await this.database.transaction(async (tx): Promise<Enrolled | undefined> => {
      // Serialises changes of one user's factors, and ends if the user was deleted.
      const held = await tx.query('SELECT 1 FROM users WHERE user_id = $1 FOR NO KEY UPDATE', [user.userId]);
      const before = await listFactors(tx, user.userId);
      if (held.length === 0 || (isFirst && before.length > 0)) return undefined;
      if (before.length >= maxFactors) throw new CodedError('invalid-input', `Remove a factor first: an account has at most ${maxFactors}.`);
      const factor = await insert(tx);
      if (!factor) return undefined;
      const codes = before.length === 0 ? await this.codes.replaceRecoveryCodes(tx, user.userId) : undefined;
      audit(tx, actor, { pattern: 'identity.addFactor' }, `${user.userId}/${factor.id}`);
      await this.outbox.notice(tx, user, 'factor-added', { ...namesOf(factor), from: address });
      return { factor, method, ...(codes && { codes }) };
    });
    if (enrolled) this.onChange?.('added');
    return enrolled;
  }

  /** Makes new recovery codes; the old ones end. @returns undefined if the user has no factor any more */
  async newRecoveryCodes(user: Addressee, actor: Actor): Promise<readonly string[] | undefined> {
    return this.database.transaction(async (tx) => {
      await tx.query('SELECT 1 FROM users WHERE user_id = $1 FOR NO KEY UPDATE', [user.userId]);
      if ((await listFactors(tx, user.userId)).length === 0) return undefined;
      audit(tx, actor, { pattern: 'identity.replaceRecoveryCodes' }, user.userId);
      return this.codes.replaceRecoveryCodes(tx, user.userId);
    });
  }

  /**
   * Removes a factor. The caller must hold the user's row, and call `onChange` once it is committed.
   * @param address of the client, if it is the user's
   */
  async remove(tx: Transaction, user: Addressee, factorId: string, actor: Actor, address?: string): Promise<FactorRecord | undefined> {
    const removed = await deleteFactor(tx, user.userId, factorId);
    if (!removed) return undefined;
    audit(tx, actor, identity.removeFactor, `${user.userId}/${factorId}`);
    await this.outbox.notice(tx, user, 'factor-removed', { ...namesOf(removed), from: address });
    return removed;
  }
}

/** What a mail calls a factor. */
const namesOf = ({ kind, name }: FactorRecord): { factor: string; keyName: string } => ({ factor: kind === 'passkey' ? 'passkey' : 'authenticator app', keyName: name });

const sealedFor = (place: string, userId: string): string => `new app of ${userId} ${place}`;
