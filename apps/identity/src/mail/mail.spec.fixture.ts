import { type AcceptMails, type AccountMailKind, type MailRecipient, notifications, type OutgoingMail } from '@plant-shop/contracts/notifications';
import { fake, startFake } from '@plant-shop/service-testing/service';
import { until } from '@plant-shop/testing/until';

/** A fake notifications, with the mails and recipients that it has accepted, each once. */
export class Mailbox {
  readonly calls: AcceptMails[] = [];
  readonly mails: OutgoingMail[] = [];
  readonly recipients: MailRecipient[] = [];
  stop: () => Promise<void> = () => Promise.resolve();

  /** @param before runs before a call is accepted; it may throw */
  static async start(natsUrl: string, before: (call: AcceptMails) => Promise<void> | void = () => undefined): Promise<Mailbox> {
    const box = new Mailbox();
    const accept = fake(notifications.acceptMails, async (call) => {
      box.calls.push(call);
      await before(call);
      for (const mail of call.mails) if (!box.mails.some(({ id }) => id === mail.id)) box.mails.push(mail);
      box.recipients.push(...call.recipients);
      return {};
    });
    box.stop = (await startFake(natsUrl, 'notifications', [accept])).stop;
    return box;
  }

  of(address: string, kind?: AccountMailKind): OutgoingMail[] {
    return this.mails.filter((mail) => mail.address === address && (kind === undefined || mail.kind === kind));
  }

  /** Waits for a mail. */
  async receive(address: string, kind: AccountMailKind, nth = 1): Promise<OutgoingMail> {
    await until(() => this.of(address, kind).length >= nth);
    const mail = this.of(address, kind)[nth - 1];
    if (!mail) throw new Error(`${address} got no ${kind}`);
    return mail;
  }

  /** Waits for the mail with a link and returns the link's code. */
  async code(address: string, kind: AccountMailKind, nth = 1): Promise<string> {
    const { data } = await this.receive(address, kind, nth);
    return new URL(data['link'] ?? '').searchParams.get('code') ?? '';
  }
}
