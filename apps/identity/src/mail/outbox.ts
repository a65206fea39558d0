import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { AccountMailKind } from '@plant-shop/contracts/notifications';
import { Cipher } from '@plant-shop/platform/cipher';
import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';
import { nearby } from '@plant-shop/platform/http/request';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { readDatabaseTime } from '../database-clock.js';
import type { LinkPurpose } from './links.js';

/** A user, as far as mail depends on it. */
export interface Addressee {
  readonly userId: string;
  readonly username: string;
  readonly email: string | null;
  /** Null: unverified. */
  readonly emailVerifiedAt: Date | null;
  readonly orderMails: boolean;
  readonly version: number;
}

/** The decrypted content of a row that is a mail. The sender adds how many minutes a link still works. */
export interface MailContent {
  readonly address: string;
  readonly data: Readonly<Record<string, string>>;
}

/** The decrypted content of a row of the kind `recipient`. */
export interface RecipientContent {
  readonly version: number;
  readonly address?: string;
  readonly username?: string;
}

/** After this many minutes a notice is no longer sent: seven days. */
const noticeMinutes = 7 * 24 * 60;

const append: Statement = {
  name: 'append-mails',
  text: `INSERT INTO mail_outbox (id, user_id, kind, content, key_id, useless_from)
         SELECT id, user_id, kind, content, $5, now() + $6 * interval '1 minute'
         FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::bytea[]) WITH ORDINALITY AS t (id, user_id, kind, content, n) ORDER BY n`,
};

/** What a notice says in addition to name and time; `from`: the address of the client that did it. */
type About = { readonly from?: string | undefined } & Readonly<Partial<Record<'device' | 'keyName' | 'role' | 'factor' | 'codesLeft', string>>>;

const findAddressee: Statement = {
  name: 'find-addressee',
  text: `SELECT user_id AS "userId", username, email, email_verified_at AS "emailVerifiedAt", order_mails AS "orderMails", version FROM users WHERE user_id = $1`,
};

/** A row to be written. */
interface NewRow {
  readonly userId: string;
  readonly kind: string;
  readonly content: MailContent | RecipientContent;
}

/** The associated text of a row's encryption. */
export const contentOf = (id: string): string => `mail ${id}`;

/** Writes what notifications is told, in the transaction that causes it. `MailSender` sends it. */
@Injectable()
export class MailOutbox {
  constructor(private readonly cipher: Cipher) {}

  /**
   * Adds mails with links. Their addresses are such that `isEmailAddress` accepts.
   * @param usefulMinutes how long they may wait; then they are dropped
   */
  addLinks(tx: Transaction, kind: LinkPurpose, mails: readonly (MailContent & { readonly userId: string })[], usefulMinutes: number): void {
    this.append(tx, mails.map(({ userId, address, data }) => ({ userId, kind, content: { address, data } })), usefulMinutes);
  }

  /** Adds a mail that says what happened to an account, if its address is verified. */
  async notice(tx: Transaction, user: Addressee, kind: AccountMailKind, { from, ...data }: About = {}): Promise<void> {
    if (user.email === null || user.emailVerifiedAt === null) return;
    const at = new Date(await readDatabaseTime(tx)).toISOString();
    const content = { address: user.email, data: { username: user.username, at, ...(from !== undefined && { network: nearby(from) }), ...data } };
    this.append(tx, [{ userId: user.userId, kind, content }], noticeMinutes);
  }

  /** As `notice`, by the id of a user, who may be deleted. */
  async noticeTo(tx: Transaction, userId: string, kind: AccountMailKind, about: About): Promise<void> {
    const [user] = await tx.query<Addressee>(findAddressee, [userId]);
    if (user) await this.notice(tx, user, kind, about);
  }

  /** Adds whom mail about orders goes to, if a change of the user changes that. */
  recipient(tx: Transaction, before: Addressee, after: Addressee): void {
    const content = recipientOf(after);
    if (JSON.stringify({ ...content, version: 0 }) === JSON.stringify({ ...recipientOf(before), version: 0 })) return;
    this.append(tx, [{ userId: after.userId, kind: 'recipient', content }]);
  }

  /**
   * Forgets a user who is being deleted: drops the mails that wait, and lets mail about orders end.
   * @param user as it was before
   */
  async forget(tx: Transaction, user: Addressee): Promise<void> {
    await tx.execute(`DELETE FROM mail_outbox WHERE user_id = $1 AND kind <> 'recipient'`, [user.userId]);
    const { version } = onlyRow(await tx.query<{ version: number }>(`SELECT nextval('user_versions') AS version`));
    this.recipient(tx, user, { ...user, version, orderMails: false });
  }

  private append(tx: Transaction, rows: readonly NewRow[], usefulMinutes?: number): void {
    if (rows.length === 0) return;
    const sealed = rows.map(({ content, ...row }) => {
      const id = randomUUID();
      return { ...row, id, ...this.cipher.encrypt(JSON.stringify(content), contentOf(id)) };
    });
    tx.send(append, [
      sealed.map(({ id }) => id),
      sealed.map(({ userId }) => userId),
      sealed.map(({ kind }) => kind),
      sealed.map(({ bytes }) => bytes),
      this.cipher.keyId,
      usefulMinutes ?? null,
    ]);
  }
}

const recipientOf = ({ version, orderMails, email, emailVerifiedAt, username }: Addressee): RecipientContent =>
  orderMails && email !== null && emailVerifiedAt !== null ? { version, address: email, username } : { version };
