import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { type AccountMailKind, type Mail, type MailRecipient, notifications, type OutgoingMail } from '@plant-shop/contracts/notifications';
import { permissionsOfRole } from '@plant-shop/contracts/permissions';
import type { Principal } from '@plant-shop/platform/rpc/context';
import { until } from '@plant-shop/testing/until';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer } from 'smtp-server';
import type { MailOptions } from '../options.js';
import { TestWebhooks, userNo } from '../webhooks/webhooks.spec.fixture.js';

export const admin: Principal = { subject: userNo(900), permissions: [...permissionsOfRole.admin], shown: ['session'] };

/** A mail as the server got it. */
export interface Received {
  readonly at: number;
  /** Of the envelope. */
  readonly to: string;
  readonly raw: string;
  readonly mail: Email;
}

/** An SMTP error with the status of its answer. */
export const refusal = (responseCode: number, text: string): Error => Object.assign(new Error(text), { responseCode });

/** A mail server that records what it gets, and answers as a test defines. */
export class TestSmtp {
  readonly received: Received[] = [];
  connections = 0;
  /** Refuses a recipient by rejecting. */
  onRecipient: (address: string) => Promise<void> | void = () => undefined;
  /** Refuses a mail by rejecting. Runs after the mail was recorded. */
  onMail: (received: Received) => Promise<void> | void = () => undefined;
  private server: SMTPServer;

  private constructor(private port: number) {
    this.server = this.create();
  }

  static async start(): Promise<TestSmtp> {
    const smtp = new TestSmtp(0);
    await smtp.listen();
    return smtp;
  }

  get url(): string {
    return `smtp://127.0.0.1:${this.port}`;
  }

  /** Ends the connections. */
  drop(): void {
    for (const connection of this.server.connections) connection.close();
  }

  /** Ends the server and its connections. `restart` opens the same port again. */
  async stop(): Promise<void> {
    this.drop();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  async restart(): Promise<void> {
    this.server = this.create();
    await this.listen();
  }

  to(address: string): Received[] {
    return this.received.filter(({ to }) => to === address);
  }

  private create(): SMTPServer {
    return new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS', 'AUTH'],
      closeTimeout: 1,
      onConnect: (_session, callback) => {
        this.connections++;
        callback();
      },
      onRcptTo: ({ address }, _session, callback) => answer(() => this.onRecipient(address), callback),
      onData: (stream, { envelope }, callback) => {
        answer(async () => {
          const chunks: Buffer[] = [];
          for await (const chunk of stream) chunks.push(chunk as Buffer);
          const raw = Buffer.concat(chunks);
          const received = { at: performance.now(), to: envelope.rcptTo[0]?.address ?? '', raw: raw.toString(), mail: await PostalMime.parse(raw) };
          this.received.push(received);
          await this.onMail(received);
        }, callback);
      },
    });
  }

  private async listen(): Promise<void> {
    const listening = this.server.listen(this.port, '127.0.0.1');
    await once(listening, 'listening');
    this.port = (listening.address() as AddressInfo).port;
  }
}

/** Calls back with the error of a function that fails. */
function answer(work: () => Promise<void> | void, callback: (error?: Error | null) => void): void {
  Promise.resolve()
    .then(work)
    .then(() => callback(), callback);
}

/** Replicas of notifications and a mail server. */
export class TestMail {
  private constructor(
    readonly shop: TestWebhooks,
    readonly smtp: TestSmtp,
  ) {}

  static async start({ replicas = 1, ...options }: Partial<MailOptions> & { replicas?: number } = {}): Promise<TestMail> {
    const test = new TestMail(await TestWebhooks.start({ replicas: 0 }), await TestSmtp.start());
    await Promise.all(Array.from({ length: replicas }, () => test.addReplica(options)));
    return test;
  }

  get variables(): Record<string, string> {
    return { SMTP_URL: this.smtp.url, MAIL_FROM: 'shop@plants.test', MAIL_PER_SECOND: '10000' };
  }

  addReplica(options: Partial<MailOptions> = {}, variables: Record<string, string> = {}): Promise<unknown> {
    return this.shop.addReplica({}, { ...this.variables, ...variables }, { timeScale: 0.01, attemptLimitMs: 8_000, ...options });
  }

  async stop(): Promise<void> {
    await this.shop.stop();
    await this.smtp.stop();
  }

  accept(mails: readonly OutgoingMail[], recipients: readonly MailRecipient[] = []): Promise<unknown> {
    return this.shop.call(notifications.acceptMails, { mails: [...mails], recipients: [...recipients] }, undefined as never);
  }

  list(filter: object = {}): Promise<Mail[]> {
    return this.shop.call(notifications.listMails, filter, admin);
  }

  async get(id: string): Promise<Mail | undefined> {
    return (await this.list()).find((one) => one.id === id);
  }

  has(id: string, state: Mail['state']): Promise<void> {
    return until(async () => (await this.get(id))?.state === state);
  }
}

/** Returns a mail about the account of a numbered user. */
export const mailOf = (user: number, given: Partial<OutgoingMail> & { kind?: AccountMailKind } = {}): OutgoingMail => ({
  id: randomUUID(),
  kind: 'password-changed',
  userId: userNo(user),
  address: `user-${user}@plants.test`,
  data: { username: `user ${user}` },
  ...given,
});

export const recipientNo = (user: number, version = 1, given: Partial<MailRecipient> = {}): MailRecipient => ({
  userId: userNo(user),
  version,
  address: `user-${user}@plants.test`,
  username: `user ${user}`,
  ...given,
});

/** A user who gets no mail about orders. */
export const goneNo = (user: number, version: number): MailRecipient => ({ userId: userNo(user), version });
