import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { type AccountMailKind, type MailRecipient, notifications, type OutgoingMail } from '@plant-shop/contracts/notifications';
import { Cipher } from '@plant-shop/platform/cipher';
import { CodedError } from '@plant-shop/platform/errors';
import type { Logger } from '@plant-shop/platform/logging';
import { Database, type Statement } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import { Deadline, RpcContext } from '@plant-shop/platform/rpc/context';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { tracing } from '@plant-shop/platform/telemetry/tracing';
import { IDENTITY_OPTIONS, type IdentityOptions } from '../options.js';
import { contentOf, type MailContent, type RecipientContent } from './outbox.js';

/** Rows of one call. */
const pageSize = 100;
/** Time limit of a call, in milliseconds; shorter than the lease, so that another replica rarely sends the same rows. */
const callMs = 4_000;
const leaseSeconds = 5;
/** What a notifications answers that has no mail server, or is of a release without mail. */
const noMail = ['mail-disabled', 'unknown-operation'];
/** How long to leave it alone, in milliseconds. */
const pauseWithoutMailMs = 60_000;

/** A lease that ends later than any can was taken before the database's clock was set back. */
const isLeased = (row: string): string => `${row}.leased_until > now() AND ${row}.leased_until <= now() + interval '1 minute'`;

/** Claims are made one after the other, so that each sees the leases before it. */
const serialise: Statement = { name: 'lock-mail-outbox', text: `SELECT pg_advisory_xact_lock(hashtext('plant-shop mail outbox'))` };

const dropUseless: Statement = { name: 'drop-useless-mails', text: 'DELETE FROM mail_outbox WHERE useless_from <= now()' };

/** Leases the first rows, recipients or mails, of users of whom no other replica sends an earlier one. */
const claim: Statement = {
  name: 'claim-mails',
  text: `
    WITH due AS MATERIALIZED (
      SELECT position FROM mail_outbox o
      WHERE (o.kind = 'recipient') = $1 AND NOT (${isLeased('o')})
        AND NOT EXISTS (SELECT FROM mail_outbox e WHERE e.user_id = o.user_id AND e.position < o.position AND (e.kind = 'recipient') = $1 AND ${isLeased('e')})
      ORDER BY position LIMIT ${pageSize})
    UPDATE mail_outbox o SET leased_until = now() + interval '${leaseSeconds} seconds' FROM due WHERE o.position = due.position
    RETURNING o.position, o.id, o.user_id AS "userId", o.kind, o.content, ceil(extract(epoch FROM o.useless_from - now()) / 60)::integer AS "minutesLeft"`,
};

const measure: Statement = {
  name: 'measure-mail-outbox',
  text: `SELECT extract(epoch FROM now() - written_at)::float8 AS seconds FROM mail_outbox ORDER BY position LIMIT 1`,
};

/** Counts rows that were encrypted with another secret than the current one. */
export async function countMailsOfFormerSecrets(db: Pick<Database, 'query'>, keyId: string): Promise<number> {
  return onlyRow(await db.query<{ count: number }>('SELECT count(*) AS count FROM mail_outbox WHERE key_id <> $1', [keyId])).count;
}

interface Row {
  readonly position: number;
  readonly id: string;
  readonly userId: string;
  readonly kind: string;
  readonly content: Buffer;
  /** Null: it is of use at any time. */
  readonly minutesLeft: number | null;
}

/**
 * Sends the outbox to notifications, at least once and in the order of each user. Rows stay until notifications has answered; those of
 * no more use are dropped.
 */
@Injectable()
export class MailSender extends BackgroundLoop {
  /** Age of the oldest row, in seconds, as of the last run. */
  oldestSeconds = 0;

  constructor(
    private readonly database: Database,
    private readonly rpc: RpcClient,
    private readonly cipher: Cipher,
    @Inject(IDENTITY_OPTIONS) options: IdentityOptions,
    @InjectLogger() logger: Logger,
  ) {
    super({ name: 'mail outbox', intervalMs: options.mailIntervalMs }, () => this.sendPages(), logger);
  }

  /** Recipients first: mails may have to wait for a mail server, which recipients need not. */
  private async sendPages(): Promise<boolean | number> {
    const [oldest] = await this.database.query<{ seconds: number }>(measure);
    this.oldestSeconds = oldest?.seconds ?? 0;
    if (!oldest) return false;
    try {
      const recipients = await this.sendPage({ ofRecipients: true });
      return (await this.sendPage({ ofRecipients: false })) || recipients;
    } catch (error) {
      if (!(error instanceof CodedError) || !noMail.includes(error.code)) throw error;
      this.logger.info({ code: error.code }, 'notifications sends no mail, so mails wait');
      return pauseWithoutMailMs;
    }
  }

  /** @returns whether the page was full */
  private async sendPage({ ofRecipients }: { readonly ofRecipients: boolean }): Promise<boolean> {
    const { rows, dropped } = await this.claim(ofRecipients);
    if (dropped > 0) this.logger.warn({ dropped }, 'mails waited too long and were dropped');
    if (rows.length === 0) return false;
    tracing?.causedBy([]);
    await this.rpc.call(notifications.acceptMails, this.read(rows), new RpcContext(randomUUID(), Deadline.in(callMs)));
    await this.database.transaction((tx) => tx.execute('DELETE FROM mail_outbox WHERE position = ANY ($1)', [rows.map(({ position }) => position)]));
    return rows.length === pageSize;
  }

  private claim(ofRecipients: boolean): Promise<{ rows: Row[]; dropped: number }> {
    return this.database.transaction(async (tx) => {
      tx.send(serialise);
      const dropped = await tx.execute(dropUseless);
      const rows = await tx.query<Row>(claim, [ofRecipients]);
      return { rows: rows.sort((a, b) => a.position - b.position), dropped };
    });
  }

  /** Decrypts rows. Logs those that cannot be decrypted, since their secret is lost, and leaves them out: they would hold up all others. */
  private read(rows: readonly Row[]): { mails: OutgoingMail[]; recipients: MailRecipient[] } {
    const mails: OutgoingMail[] = [];
    const recipients: MailRecipient[] = [];
    for (const { id, userId, kind, content, minutesLeft } of rows) {
      let text: string;
      try {
        text = this.cipher.decrypt(content, contentOf(id));
      } catch (error) {
        this.logger.error({ err: error, id, kind }, 'a mail cannot be decrypted and is dropped');
        continue;
      }
      if (kind === 'recipient') {
        recipients.push({ userId, ...(JSON.parse(text) as RecipientContent) });
        continue;
      }
      const { address, data } = JSON.parse(text) as MailContent;
      const minutes = data['link'] !== undefined && minutesLeft !== null ? { minutes: String(minutesLeft) } : {};
      mails.push({ id, kind: kind as AccountMailKind, userId, address, data: { ...data, ...minutes } });
    }
    return { mails, recipients };
  }
}
