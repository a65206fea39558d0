import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import type { ShopEvent } from '@plant-shop/contracts/events';
import { Cipher } from '@plant-shop/platform/cipher';
import type { Logger } from '@plant-shop/platform/logging';
import type { Transaction } from '@plant-shop/platform/postgres/database';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { type MailOptions, NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../options.js';
import { QueueClock } from '../webhooks/queue/queue-clock.js';
import { maskAddress, pauseBeforeRetry, shownError } from './mail.js';
import { MailMetrics } from './mail-metrics.js';
import { Mailer, type OutgoingMessage, type SendResult } from './mailer.js';
import { type DueMail, giveBackMails, leaseMails, type MailOutcome, openMail, openRecipient, postponeMails, recordMail, takeDueMails } from './mails.repository.js';
import { IncompleteMail, Templates } from './templates.js';

/** Due mails that a claim looks at beyond the free slots, since some are behind others. */
const lookAhead = 20;
/** Pause between two tries to record an outcome while the database is down. */
const recordRetryMs = 250;
/** How long a stopping service waits for attempts in progress. */
const finishMs = 1_500;

const linkOver = 'The link ended before the mail could be sent.';
const noAddress = 'The user has no address for mail about orders.';

const neverSent = (error: string): MailOutcome => ({ state: 'failed', pauseMs: 0, isAttempt: false, masked: null, error });

/** A mail that this replica has until the lease ends. */
interface Claim {
  readonly mail: DueMail;
  readonly lease: string;
  /** When the claim began, by `performance.now`. */
  readonly at: number;
}

/** Claims due mails, sends them and records what became of them. Any number of replicas share the work. A mail whose outcome is lost is sent again. */
@Injectable()
export class MailWorker extends BackgroundLoop {
  private readonly mail: MailOptions;
  private readonly mailer: Mailer | undefined;
  private readonly templates: Templates;
  /** Attempts whose outcomes are not recorded. */
  private readonly inProgress = new Set<Promise<void>>();
  /** Mails that the rate allows at `tokensAt`, by `performance.now`. */
  private tokens = 1;
  private tokensAt = performance.now();

  constructor(
    private readonly clock: QueueClock,
    private readonly cipher: Cipher,
    private readonly metrics: MailMetrics,
    @Inject(NOTIFICATIONS_OPTIONS) { mail }: NotificationsOptions,
    @InjectLogger() logger: Logger,
  ) {
    super({ name: 'send mail', intervalMs: mail.pollMs, isTraced: false }, () => this.claimAndSend(), logger);
    this.mail = mail;
    this.templates = new Templates(mail.shop);
    this.mailer = mail.server && new Mailer(mail, mail.server);
    if (!mail.server) logger.warn({}, 'the shop sends no mail: SMTP_URL is not set');
  }

  /** Stops claiming, lets attempts in progress finish for a while, and gives the others to other replicas. */
  override async onApplicationShutdown(): Promise<void> {
    await this.stop();
    const late = new AbortController();
    await Promise.race([Promise.all(this.inProgress), pause(finishMs, undefined, { signal: late.signal }).catch(() => undefined)]);
    late.abort();
    this.mailer?.close();
    await Promise.all(this.inProgress);
  }

  /** Whether nothing is being sent, and all outcomes are recorded or given up. */
  get isIdle(): boolean {
    return this.inProgress.size === 0;
  }

  /** Returns true if there may be more to do at once, or when to look again, in milliseconds. */
  private async claimAndSend(): Promise<boolean | number> {
    const { mailer } = this;
    const { perSecond, atOnce } = this.mail;
    const now = performance.now();
    this.tokens = Math.min(perSecond, this.tokens + ((now - this.tokensAt) / 1_000) * perSecond);
    this.tokensAt = now;
    const free = Math.min(atOnce - this.inProgress.size, Math.floor(this.tokens));
    // The end of an attempt notifies the loop.
    if (!mailer || this.stopped || this.inProgress.size >= atOnce) return false;
    if (free <= 0) return ((1 - this.tokens) / perSecond) * 1_000;
    const { claims, looked } = await this.claim(free);
    this.tokens -= claims.length;
    for (const claim of claims) this.begin(claim, mailer);
    // Those that were looked at and not claimed are due later, unless there was no slot for them.
    return looked === free + lookAhead || claims.length === free;
  }

  private async claim(free: number): Promise<{ readonly claims: Claim[]; readonly looked: number }> {
    const lease = randomUUID();
    const at = performance.now();
    return this.clock.transaction(
      async (tx) => {
        const due = await takeDueMails(tx, free + lookAhead, this.mail.perUserAndHour);
        const failed = due.filter((one) => faultOf(one) !== undefined);
        const others = due.filter((one) => faultOf(one) === undefined);
        postponeMails(
          tx,
          others.flatMap(({ position, heldUntil, blockedUntil }) => {
            const until = heldUntil ?? blockedUntil;
            return until ? [{ position, until, state: heldUntil ? ('held' as const) : ('pending' as const) }] : [];
          }),
        );
        const mails = others.filter(({ heldUntil, blockedUntil }) => !heldUntil && !blockedUntil).slice(0, free);
        leaseMails(tx, [...mails, ...failed].map(({ position }) => position), lease, this.mail.leaseMs);
        for (const one of failed) await recordMail(tx, one.position, lease, neverSent(faultOf(one) ?? ''));
        return { claims: mails.map((mail) => ({ mail, lease, at })), looked: due.length };
      },
      { useGenericPlans: true },
    );
  }

  private begin(claim: Claim, mailer: Mailer): void {
    const done = this.deliver(claim, mailer).catch((error: unknown) => {
      // When its lease ends, the mail is sent once more.
      this.logger.warn({ err: error, mail: claim.mail.id }, 'a mail was not sent, or its outcome not recorded');
    });
    this.inProgress.add(done);
    void done.finally(() => {
      this.inProgress.delete(done);
      this.notify();
    });
  }

  private async deliver(claim: Claim, mailer: Mailer): Promise<void> {
    const message = this.messageOf(claim.mail);
    if (typeof message === 'string') {
      await this.record(claim, neverSent(message));
      return;
    }
    const sent = await mailer.send(message);
    if (!sent.isSent && this.stopped) {
      await this.clock.transaction((tx) => giveBackMails(tx, claim.lease, [claim.mail.position]));
      return;
    }
    const outcome = this.outcomeOf(claim.mail, message.to, sent);
    this.metrics.attempted(outcome.state);
    if (!sent.isSent) this.logger.warn({ mail: claim.mail.id, kind: claim.mail.kind, state: outcome.state, reason: outcome.error }, 'sending a mail failed');
    await this.record(claim, outcome);
  }

  /** Returns why the mail can never be sent instead, if it cannot. */
  private messageOf(mail: DueMail): OutgoingMessage | string {
    const { id, kind, createdAt } = mail;
    try {
      const { to, values } = mail.event === null ? this.accountMail(mail) : this.orderMail(mail, mail.event);
      return { id, to, createdAt, ...this.templates.render(kind, values) };
    } catch (error) {
      if (error instanceof IncompleteMail) return `The mail is incomplete: ${error.message}.`;
      // It would hold up the later mails of its order or user.
      this.logger.error({ err: error, mail: id }, 'a mail cannot be decrypted or written, and fails');
      return 'The mail cannot be decrypted or written.';
    }
  }

  private accountMail({ id, encrypted }: DueMail): { to: string; values: Readonly<Record<string, string>> } {
    if (!encrypted) throw new IncompleteMail('its text is deleted');
    const { address, data } = openMail(this.cipher, id, encrypted);
    return { to: address, values: data };
  }

  private orderMail({ userId, recipient }: DueMail, event: string): { to: string; values: Readonly<Record<string, string>> } {
    if (!recipient) throw new IncompleteMail('its user has no address');
    const { address, username } = openRecipient(this.cipher, userId, recipient);
    const { data } = JSON.parse(event) as ShopEvent;
    const values = Object.fromEntries(Object.entries(data).map(([name, value]) => [name, String(value)]));
    return { to: address, values: { ...values, ...(username !== undefined && { username }) } };
  }

  private outcomeOf({ attempts, hasLink }: DueMail, address: string, sent: SendResult): MailOutcome {
    const base = { isAttempt: true, masked: maskAddress(address) };
    if (sent.isSent) return { ...base, state: 'sent', pauseMs: 0, error: null };
    const pauseMs = sent.isFinal ? undefined : pauseBeforeRetry(attempts + 1, hasLink, this.mail.timeScale, Math.random());
    return { ...base, state: pauseMs === undefined ? 'failed' : 'pending', pauseMs: pauseMs ?? 0, error: shownError(sent.error) };
  }

  /** Tries again until the lease ends: then another replica has the mail. */
  private async record({ mail, lease, at }: Claim, outcome: MailOutcome): Promise<void> {
    for (;;) {
      try {
        const isRecorded = await this.clock.transaction((tx: Transaction) => recordMail(tx, mail.position, lease, outcome), { useGenericPlans: true });
        if (!isRecorded) this.logger.warn({ mail: mail.id }, 'another replica has sent a mail, too');
        return;
      } catch (error) {
        if (this.stopped || performance.now() - at > this.mail.leaseMs) throw error;
      }
      await pause(recordRetryMs);
    }
  }
}

/** Returns why a mail needs no attempt. */
function faultOf({ isOver, event, recipient }: DueMail): string | undefined {
  if (isOver) return linkOver;
  return event !== null && !recipient ? noAddress : undefined;
}
