import { Controller, Inject, Injectable } from '@nestjs/common';
import { isEmailAddress } from '@plant-shop/contracts/fields';
import { identity } from '@plant-shop/contracts/identity';
import type { AskedAccount, RequestRecovery } from '@plant-shop/contracts/identity.email';
import { Cipher } from '@plant-shop/platform/cipher';
import { invalidInput } from '@plant-shop/platform/errors';
import type { Logger } from '@plant-shop/platform/logging';
import { audit } from '@plant-shop/platform/patterns/audit-log';
import { type Deadline, IdempotencyKey } from '@plant-shop/platform/rpc/context';
import { IdempotentResults } from '@plant-shop/platform/patterns/idempotent-results';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { tracing } from '@plant-shop/platform/telemetry/tracing';
import { revokeKeysOf } from '../api-keys.repository.js';
import { createLinks, findLink, linkMinutes, useLink } from '../mail/links.js';
import { MailOutbox } from '../mail/outbox.js';
import { IDENTITY_OPTIONS, type IdentityOptions } from '../options.js';
import { PasswordHasher } from '../passwords/password-hasher.js';
import { appendRevocations, RevocationsService } from '../revocations/revocations.js';
import { endSessionsAndGrants } from '../sessions.repository.js';
import { findHasFactor } from '../factors/factors.repository.js';
import { LoginAttempts } from './login-attempts.js';
import { RecentLogin } from './recent-login.js';
import { insertRecoveryRequest, takeRecoveryRequests } from './recovery.repository.js';
import { byMailLink } from './user.js';
import { changeUser, findVerifiedUsers, lockUser } from './users.repository.js';
import { UsersService } from './users.service.js';

/** What `requestRecovery` answers, whatever it found. */
const sent = 'If there is such an account with a verified e-mail address, a link was sent to it.';

/** What the page of a link sends. */
export interface NewPassword {
  readonly code: string;
  readonly password: string;
  readonly endApiKeys: boolean;
  /** A code of the second factor. */
  readonly factorCode: string;
  /** The browser's answer for a passkey; empty: the code counts. */
  readonly passkey: string;
  readonly place: string;
}

/** Requests that one run of the loop handles. */
const batch = 50;
/** Accounts of one address that get a mail each. */
const maxAccounts = 5;

/** The associated text of the encryption of what was asked: people type passwords into name fields. */
const askedPurpose = 'request for recovery';

/** Path of the page that takes a new password; its query has the link's code. */
export const newPasswordPath = '/account/password';

/**
 * Replaces forgotten passwords, by a link in a mail to the verified address. A request only counts itself and stores what it asked, which takes
 * the same time whether there is such an account. This loop then looks for it.
 */
@Injectable()
export class Recovery extends BackgroundLoop {
  private readonly publicUrl: string;

  constructor(
    private readonly database: Database,
    private readonly cipher: Cipher,
    private readonly outbox: MailOutbox,
    private readonly attempts: LoginAttempts,
    private readonly users: UsersService,
    private readonly hasher: PasswordHasher,
    private readonly recentLogin: RecentLogin,
    private readonly revocations: RevocationsService,
    @Inject(IDENTITY_OPTIONS) { mailIntervalMs, publicUrl }: IdentityOptions,
    @InjectLogger() logger: Logger,
  ) {
    super({ name: 'recovery', intervalMs: mailIntervalMs }, () => this.answerRequests(), logger);
    this.publicUrl = publicUrl;
  }

  /** @throws CodedError `invalid-input`; DomainError `too-many-mails` */
  async ask({ account, address = '' }: RequestRecovery): Promise<{ sent: string }> {
    const { email, username } = account;
    if ((email === undefined) === (username === undefined)) throw invalidInput([{ pointer: '/account', detail: 'must have either email or username' }]);
    await this.request(account, address);
    return { sent };
  }

  /**
   * Asks for a link. The same name and address count as one account, regardless of case.
   * @param address of the client
   * @throws DomainError `too-many-mails`
   */
  async request(asked: AskedAccount, address: string): Promise<void> {
    const name = (asked.username ?? asked.email ?? '').toLowerCase();
    await this.database.transaction(async (tx) => {
      await this.attempts.countMail(tx, `recovery ${name}`, address);
      insertRecoveryRequest(tx, this.cipher.encrypt(JSON.stringify(asked), askedPurpose));
    });
  }

  /** Returns whose password a link replaces; undefined if it does not work. */
  async find(code: string): Promise<{ userId: string; username: string; hasFactor: boolean } | undefined> {
    const found = await findLink(this.database, 'recovery', code);
    return found && { ...found, hasFactor: await findHasFactor(this.database, found.userId) };
  }

  /**
   * Sets a password, and ends all sessions of the user and all grants to applications. An account with a second factor needs it, too: a stolen
   * mailbox is not enough. A form that its browser sends again sets nothing more, and gets the same answer.
   * @param place the page and the browser that the passkey is for
   * @returns undefined if the link does not work; then it hashes nothing
   * @throws CodedError `invalid-input` for a password that the rules refuse, or a factor; DomainError `too-many-logins`: the link still works
   */
  async setPassword(
    { requestId, deadline, address }: { readonly requestId: string; readonly deadline: Deadline; readonly address: string },
    { code, password, endApiKeys, factorCode, passkey, place }: NewPassword,
  ): Promise<{ username: string } | undefined> {
    const form = new IdempotencyKey(`recovery ${place}`, this.cipher.fingerprint(JSON.stringify([code, password, endApiKeys])).toString('base64url'), 'identity.recoverAccount', Buffer.alloc(0));
    const found = await this.find(code);
    if (!found) return (await IdempotentResults.peek(this.database, form))?.value as { username: string } | undefined;
    this.users.checkPasswords([{ ...found, password, pointer: '' }]);
    const shown = { password: '', code: factorCode, passkey, place, address, requestId, deadline };
    if (found.hasFactor && !(await this.recentLogin.isShown(found, shown))) throw invalidInput([{ pointer: '/factor', detail: 'was refused; try again' }]);
    const passwordHash = await this.hasher.hash(password, deadline);
    const outcome = await this.database.transaction(async (tx) => {
      const answers = await IdempotentResults.lockAndRead(tx, [form]);
      if (answers.of(form)) return 'repeated';
      const user = await lockUser(tx, found.userId);
      if (!user || !(await useLink(tx, 'recovery', code))) return 'refused';
      // One that was added meanwhile was not asked for.
      if (!found.hasFactor && (await findHasFactor(tx, user.userId))) throw invalidInput([{ pointer: '/factor', detail: 'is needed now' }]);
      await changeUser(tx, user.userId, { passwordHash });
      const ended = [...(await endSessionsAndGrants(tx, user.userId, undefined)), ...(endApiKeys ? await revokeKeysOf(tx, user.userId) : [])];
      await this.attempts.forgive(tx, user.username);
      await this.outbox.notice(tx, user, 'password-changed', { from: address });
      audit(tx, byMailLink(requestId, user.userId), { pattern: 'identity.recoverAccount' }, user.userId);
      await appendRevocations(tx, ended);
      answers.add(form, { username: found.username });
      answers.write(tx);
      return 'set';
    });
    if (outcome === 'refused') return undefined;
    if (outcome === 'set') {
      this.revocations.publish();
      this.logger.info({ userId: found.userId, requestId }, 'account recovered');
    }
    return found;
  }

  private async answerRequests(): Promise<boolean> {
    const taken = await this.database.transaction(async (tx) => {
      const requests = await takeRecoveryRequests(tx, batch, linkMinutes.recovery);
      for (const { asked, isInTime } of requests) if (isInTime) await this.answer(tx, asked);
      return requests.length;
    });
    if (taken > 0) tracing?.causedBy([]);
    return taken === batch;
  }

  private async answer(tx: Transaction, asked: Buffer): Promise<void> {
    let text: string;
    try {
      text = this.cipher.decrypt(asked, askedPurpose);
    } catch (error) {
      // Its secret is lost. It would hold up all others.
      this.logger.error({ err: error }, 'a request for recovery cannot be decrypted and is dropped');
      return;
    }
    const found = await findVerifiedUsers(tx, JSON.parse(text) as AskedAccount, maxAccounts);
    const codes = await createLinks(tx, found.map(({ userId }) => userId), 'recovery');
    const mails = found.flatMap(({ userId, username, email }) => {
      const code = codes.get(userId);
      if (code === undefined || email === null || !isEmailAddress(email)) return [];
      return { userId, address: email, data: { username, link: `${this.publicUrl}${newPasswordPath}?code=${code}` } };
    });
    this.outbox.addLinks(tx, 'recovery', mails, linkMinutes.recovery);
  }
}

@Controller()
export class RecoveryController {
  constructor(private readonly recovery: Recovery) {}

  @Answers(identity.requestRecovery)
  requestRecovery(request: RequestRecovery): Promise<{ sent: string }> {
    return this.recovery.ask(request);
  }
}
