import { Inject, Injectable } from '@nestjs/common';
import type { Revocation } from '@plant-shop/contracts/identity';
import { type RevocationListener, RevocationLog } from '@plant-shop/credentials/revocation-log';
import { Cipher } from '@plant-shop/platform/cipher';
import type { Logger } from '@plant-shop/platform/logging';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../options.js';
import { QueueClock } from '../webhooks/queue/queue-clock.js';
import { deleteEndedMails, deleteMailsOf, deleteTexts, reencryptMails } from './mails.repository.js';

const batch = 500;

/**
 * Deletes mails of deleted users, ended mails and texts whose links have ended, and re-encrypts after a change of the key. It learns of deleted users
 * from the revocation log; mails of one deleted while no replica ran for days are deleted when they are old.
 */
@Injectable()
export class MailSweeper extends BackgroundLoop implements RevocationListener {
  private deletedUsers = new Set<string>();
  private readonly keepEndedMs: number;

  constructor(
    private readonly clock: QueueClock,
    private readonly cipher: Cipher,
    revocations: RevocationLog,
    @Inject(NOTIFICATIONS_OPTIONS) { mail }: NotificationsOptions,
    @InjectLogger() logger: Logger,
  ) {
    super({ name: 'sweep mails', intervalMs: mail.sweepMs }, () => this.sweep(), logger);
    this.keepEndedMs = mail.keepEndedMs;
    revocations.addListener(this);
  }

  revoked(entries: readonly Revocation[]): void {
    const users = entries.filter(({ kind }) => kind === 'user');
    for (const { id } of users) this.deletedUsers.add(id);
    if (users.length > 0) this.notify();
  }

  forget(): void {
    // The log is read again from its beginning, and then names the users again.
  }

  /** Returns whether there may be more to sweep. */
  private async sweep(): Promise<boolean> {
    const users = [...this.deletedUsers];
    if (users.length > 0) await this.clock.transaction((tx) => deleteMailsOf(tx, users));
    for (const id of users) this.deletedUsers.delete(id);
    const counts = [
      await this.clock.transaction((tx) => deleteTexts(tx, batch)),
      await this.clock.transaction((tx) => deleteEndedMails(tx, this.keepEndedMs, batch)),
      await this.clock.transaction((tx) => reencryptMails(tx, this.cipher, batch)),
    ];
    return counts.some((count) => count >= batch);
  }
}
