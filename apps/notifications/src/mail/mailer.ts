import { createTransport } from 'nodemailer';
import type { MailOptions } from '../options.js';

export interface OutgoingMessage {
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly createdAt: Date;
}

/** What became of an attempt. `isFinal`: the server will never take this mail. */
export type SendResult = { readonly isSent: true } | { readonly isSent: false; readonly error: string; readonly isFinal: boolean };

/** An error of nodemailer, which has no type for it. */
interface SmtpError {
  readonly code?: string;
  readonly originalCode?: string;
  /** The server's answer, and its status. */
  readonly response?: string;
  readonly responseCode?: number;
  /** What was answered so. */
  readonly command?: string;
  readonly message?: string;
}

/** Commands that concern the mail. A refused login or sender is a fault of the shop's, which can be repaired. */
const ofMail = ['RCPT TO', 'DATA', 'API'];
/** Faults of the mail itself, found before the server is asked. */
const invalid = ['EENVELOPE', 'EMESSAGE'];

/** Sends by SMTP, over a few connections that stay open between mails. */
export class Mailer {
  private readonly transport;

  constructor(
    private readonly options: MailOptions,
    { host, port, isTls, requireTls, auth }: NonNullable<MailOptions['server']>,
  ) {
    this.transport = createTransport({
      pool: true,
      ...{ host, port, secure: isTls, requireTLS: requireTls },
      ...(auth && { auth }),
      maxConnections: options.atOnce,
      // A connection that the server has just closed costs no attempt.
      maxRequeues: 1,
      connectionTimeout: options.attemptLimitMs / 4,
      greetingTimeout: options.attemptLimitMs / 4,
      socketTimeout: options.attemptLimitMs / 2,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  }

  /** Sends a mail. Its Message-ID follows from its id, so that receivers can recognise a repetition. */
  async send({ id, to, subject, text, html, createdAt }: OutgoingMessage): Promise<SendResult> {
    const { from, shop, attemptLimitMs } = this.options;
    try {
      await this.transport.sendMail({
        messageId: `<${id}@${from.slice(from.lastIndexOf('@') + 1)}>`,
        date: createdAt,
        // Objects, because the names and addresses in texts would be parsed.
        from: { name: shop.name, address: from },
        to: { name: '', address: to },
        ...{ subject, text, html },
        // RFC 3834: nothing answers automatically.
        headers: { 'Auto-Submitted': 'auto-generated' },
        signal: AbortSignal.timeout(attemptLimitMs),
      });
      return { isSent: true };
    } catch (error) {
      return failureOf(error as SmtpError);
    }
  }

  /** Closes the connections, also those in use. */
  close(): void {
    this.transport.close({ force: true });
  }
}

export function failureOf({ code = 'unknown', originalCode, response, responseCode, command = '', message = '' }: SmtpError): SendResult & { readonly isSent: false } {
  const isFinal = responseCode === undefined ? invalid.includes(code) : responseCode >= 500 && ofMail.includes(command);
  if (response !== undefined) return { isSent: false, isFinal, error: `The mail server answered: ${response}` };
  if (isFinal) return { isSent: false, isFinal, error: message };
  return { isSent: false, isFinal, error: `The mail server cannot be reached, or does not answer (${originalCode ?? code}).` };
}
