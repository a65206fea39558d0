import { Controller, Inject, Injectable } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import { identity } from '@plant-shop/contracts/identity';
import { type AcceptMails, type ListMails, type Mail, notifications, type ResendMail } from '@plant-shop/contracts/notifications';
import { Cipher } from '@plant-shop/platform/cipher';
import { actorOf, audit } from '@plant-shop/platform/patterns/audit-log';
import { runOnce } from '@plant-shop/platform/patterns/idempotent-results';
import { byNumber, Paging } from '@plant-shop/platform/patterns/paging';
import { Database } from '@plant-shop/platform/postgres/database';
import { Page, type Replayed } from '@plant-shop/platform/rpc/answer';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import type { Principal, RpcContext } from '@plant-shop/platform/rpc/context';
import { v7 as uuidv7 } from 'uuid';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../options.js';
import { QueueClock } from '../webhooks/queue/queue-clock.js';
import { existingMail, type MailRecord, toMail } from './mail.js';
import { type EndedMail, findMails, insertCopy, insertMails, lockMail, saveRecipients } from './mails.repository.js';

/** The operations on mail. */
@Injectable()
export class MailsService {
  private readonly isOn: boolean;

  constructor(
    private readonly database: Database,
    private readonly clock: QueueClock,
    private readonly cipher: Cipher,
    private readonly rpc: RpcClient,
    @Inject(NOTIFICATIONS_OPTIONS) { mail }: NotificationsOptions,
  ) {
    this.isOn = mail.server !== undefined;
  }

  /** @throws DomainError `mail-disabled` */
  async accept({ mails, recipients }: AcceptMails): Promise<void> {
    if (mails.length > 0) this.assertOn();
    await this.clock.transaction(async (tx) => {
      insertMails(tx, this.cipher, mails);
      saveRecipients(tx, this.cipher, recipients);
    });
  }

  /**
   * Returns a page, newest first, with the present names of the users.
   * @throws DomainError `forbidden`, `user-not-found`
   */
  async list(context: RpcContext, { limit, cursor, username, ...wanted }: ListMails): Promise<Page<Mail>> {
    assertMayReadMails(context.principal);
    const named = username === undefined ? undefined : (await this.rpc.call(identity.resolveUsername, { username }, context)).userId;
    const filter = { ...wanted, ...(named !== undefined && { userId: named }) };
    // Two users: no mail is to both.
    if (named !== undefined && wanted.userId !== undefined && named !== wanted.userId) return new Page([]);
    const paging = new Paging('mails', byNumber, [`state ${filter.state ?? 'any'}`, `kind ${filter.kind ?? 'any'}`, `user ${filter.userId ?? 'any'}`]);
    const bounds = paging.bounds({ ...(limit !== undefined && { limit }), ...(cursor !== undefined && { cursor }) });
    const rows = await findMails(this.database, filter, bounds);
    const names = await this.namesOf(context, rows);
    return paging.page(rows, bounds, { entry: (row) => ({ ...toMail(row), ...names.get(row.userId) }), position: ({ position }) => position });
  }

  /** Returns the names of the users that mails are to; deleted users have none. */
  private async namesOf(context: RpcContext, mails: readonly MailRecord[]): Promise<ReadonlyMap<string, { username: string }>> {
    const userIds = [...new Set(mails.map(({ userId }) => userId))];
    const users = userIds.length === 0 ? [] : await this.rpc.call(identity.resolveUserIds, { userIds }, context);
    return new Map(users.map(({ userId, username }) => [userId, { username }]));
  }

  /**
   * Adds a copy, with a Message-ID of its own: receivers would drop a repeated one.
   * @throws DomainError `mail-not-found`, `mail-not-resendable`, `mail-disabled`
   */
  resend(context: RpcContext, mailId: string): Promise<Mail | Replayed> {
    assertMayReadMails(context.principal);
    return this.clock.transaction((tx) =>
      runOnce(tx, context.idempotency, async () => {
        const mail = existingMail(await lockMail(tx, mailId));
        this.assertOn();
        assertResendable(mail);
        const copy = await insertCopy(tx, this.cipher, uuidv7(), mail);
        audit(tx, actorOf(context), notifications.resendMail, mail.id);
        return toMail(copy);
      }),
    );
  }

  private assertOn(): void {
    if (!this.isOn) throw new DomainError('mail-disabled', 'The shop has no mail server: SMTP_URL is not set.');
  }
}

/** Throws `forbidden` without the permission `write:users`. */
function assertMayReadMails({ permissions }: Principal): void {
  if (!permissions.includes('write:users')) throw new DomainError('forbidden', 'Mails need the permission write:users.');
}

/** Throws `mail-not-resendable` with the reason. */
function assertResendable({ endedAt, event, encrypted, isOver, hasRecipient }: EndedMail): void {
  const reason =
    endedAt === null ? 'It is still waiting.'
    : event !== null ? (hasRecipient ? undefined : 'The user has no address for mail about orders.')
    : encrypted && !isOver ? undefined
    : 'Its text is deleted: only failed mails whose link has not ended can be sent again. The user can request a new one.';
  if (reason !== undefined) throw new DomainError('mail-not-resendable', reason);
}

@Controller()
export class MailsController {
  constructor(private readonly mails: MailsService) {}

  @Answers(notifications.acceptMails)
  async acceptMails(request: AcceptMails): Promise<Record<string, never>> {
    await this.mails.accept(request);
    return {};
  }

  @Answers(notifications.listMails)
  listMails(request: ListMails, context: RpcContext): Promise<Page<Mail>> {
    return this.mails.list(context, request);
  }

  @Answers(notifications.resendMail)
  resendMail({ mailId }: ResendMail, context: RpcContext): Promise<Mail | Replayed> {
    return this.mails.resend(context, mailId);
  }
}
