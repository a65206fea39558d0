import { Controller, Inject, Injectable } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import { isEmailAddress } from '@plant-shop/contracts/fields';
import { identity } from '@plant-shop/contracts/identity';
import type { SendEmailVerification } from '@plant-shop/contracts/identity.email';
import { audit } from '@plant-shop/platform/patterns/audit-log';
import { IdempotencyKey, type RpcContext } from '@plant-shop/platform/rpc/context';
import { IdempotentResults } from '@plant-shop/platform/patterns/idempotent-results';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import { createLinks, findLink, linkMinutes, useLink } from '../mail/links.js';
import { MailOutbox } from '../mail/outbox.js';
import { IDENTITY_OPTIONS, type IdentityOptions } from '../options.js';
import { LoginAttempts } from './login-attempts.js';
import { byMailLink, requireManageable, userNotFound, type UserRecord } from './user.js';
import { auditUnlessSelf, findUser, findUserById, lockUser, setVerified } from './users.repository.js';

/** An address that can be mailed. */
type Mailable = UserRecord & { readonly email: string };

const isMailable = (user: UserRecord): user is Mailable => user.email !== null && isEmailAddress(user.email);

/** Path of the page that verifies an address; its query has the link's code. */
export const verificationPath = '/account/email';

/** Verifies that users receive mail at their address, by a link in a mail to it. */
@Injectable()
export class EmailVerification {
  constructor(
    private readonly database: Database,
    private readonly outbox: MailOutbox,
    private readonly attempts: LoginAttempts,
    @Inject(IDENTITY_OPTIONS) private readonly options: IdentityOptions,
  ) {}

  /**
   * Sends mail to new addresses, in the transaction that stores them; at most one to each address, and none beyond the limits of an address
   * or of `by`. Whoever gets none can ask again.
   * @param by the user who sets the address, if it is that user's own
   */
  async begin(tx: Transaction, users: readonly UserRecord[], by?: string): Promise<void> {
    const byAddress = new Map(users.filter(isMailable).map((user) => [user.email.toLowerCase(), user]));
    if (byAddress.size === 0) return;
    const exceeded = await this.attempts.countMails(tx, [...byAddress.keys(), ...(by === undefined ? [] : [by])]);
    if (by !== undefined && exceeded.has(by)) return;
    await this.send(tx, [...byAddress].flatMap(([address, user]) => (exceeded.has(address) ? [] : user)));
  }

  /**
   * Sends the mail again, unless the address is verified.
   * @throws DomainError `forbidden`, `user-not-found`, `email-not-mailable`, `too-many-mails`
   */
  async sendAgain(context: RpcContext, { username, address = '' }: SendEmailVerification): Promise<{ email: string }> {
    return this.database.transaction(async (tx) => {
      const { userId } = requireManageable(context.principal, await findUser(tx, username));
      const user = await lockUser(tx, userId);
      if (!user) throw userNotFound();
      if (!isMailable(user)) throw new DomainError('email-not-mailable', 'Set an e-mail address that mail can be sent to first.');
      if (user.emailVerifiedAt !== null) return { email: user.email };
      await this.attempts.countMail(tx, user.email.toLowerCase(), address);
      await this.send(tx, [user]);
      auditUnlessSelf(tx, context, identity.sendEmailVerification, userId);
      return { email: user.email };
    });
  }

  /** Returns the account and the address that a link verifies; undefined if it does not work. */
  find(code: string): Promise<{ username: string; email: string } | undefined> {
    return findLink(this.database, 'verify-address', code);
  }

  /**
   * Verifies an address. A form that its browser sends again gets the same answer, as long as it is true.
   * @param place the page and the browser
   * @returns undefined if the link does not work
   */
  async verify(requestId: string, code: string, place: string): Promise<{ email: string } | undefined> {
    const form = new IdempotencyKey(`verification ${place}`, code, 'identity.verifyEmail', Buffer.alloc(0));
    return this.database.transaction(async (tx) => {
      const answers = await IdempotentResults.lockAndRead(tx, [form]);
      const verified = answers.of(form)?.value as { userId: string; email: string } | undefined;
      if (verified) {
        const user = await findUserById(tx, verified.userId);
        return user?.email === verified.email && user.emailVerifiedAt !== null ? verified : undefined;
      }
      const found = await findLink(tx, 'verify-address', code);
      const before = found && (await lockUser(tx, found.userId));
      if (!found || !before || !(await useLink(tx, 'verify-address', code))) return undefined;
      const after = await setVerified(tx, before.userId);
      this.outbox.recipient(tx, before, after);
      audit(tx, byMailLink(requestId, before.userId), { pattern: 'identity.verifyEmail' }, before.userId);
      answers.add(form, { userId: before.userId, email: found.email });
      answers.write(tx);
      return found;
    });
  }

  private async send(tx: Transaction, users: readonly Mailable[]): Promise<void> {
    const codes = await createLinks(tx, users.map(({ userId }) => userId), 'verify-address');
    const mails = users.flatMap(({ userId, username, email }) => {
      const code = codes.get(userId);
      return code === undefined ? [] : { userId, address: email, data: { username, link: `${this.options.publicUrl}${verificationPath}?code=${code}` } };
    });
    this.outbox.addLinks(tx, 'verify-address', mails, linkMinutes['verify-address']);
  }
}

@Controller()
export class EmailVerificationController {
  constructor(private readonly verification: EmailVerification) {}

  @Answers(identity.sendEmailVerification)
  sendEmailVerification(request: SendEmailVerification, context: RpcContext): Promise<{ email: string }> {
    return this.verification.sendAgain(context, request);
  }
}
