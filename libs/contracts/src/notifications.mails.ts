import { applyDecorators } from '@nestjs/common';
import { operationsOf } from '@plant-shop/platform/rpc/operation';
import { IsOptional, ValidateBy } from 'class-validator';
import { type AnswerOf, described, id, instant, integer, listOf, objectOf, oneOf, optional, text, uuid } from './answers.js';
import type { Account } from './broker.js';
import { forClientsUnder } from './client-operation.js';
import type { ErrorCode } from './errors.js';
import { EmailAddress, Integer, ObjectsOf, OneOf, PageRequest, Text, Uuid } from './fields.js';
import { permission } from './permissions.js';
import { Description, Schema } from './schema.js';

// Mail to users. Identity says which account mails are due, and who gets mail about orders; notifications sends both.

/** Mails about an account. They go to the address that the mail names. */
export const accountMailKinds = ['verify-address', 'recovery', 'new-sign-in', 'password-changed', 'address-changed', 'key-added', 'factor-added', 'factor-removed', 'passkey-locked', 'recovery-code-used', 'role-changed'] as const;
export type AccountMailKind = (typeof accountMailKinds)[number];

/** Mails about an order. They go to the user's address at the time of sending. */
export const orderMailKinds = ['order-placed', 'order-paid', 'order-shipped', 'order-cancelled', 'refund-due'] as const;
export type OrderMailKind = (typeof orderMailKinds)[number];

export type MailKind = AccountMailKind | OrderMailKind;
const mailKinds: readonly MailKind[] = [...accountMailKinds, ...orderMailKinds];

/**
 * - `pending`: due now or later.
 * - `held`: the user got so many mails of this kind within an hour that this one waits.
 * - `sent`: the mail server has accepted it.
 * - `failed`: the mail server refused it, all attempts failed, its link has ended, or the user no longer wants it.
 */
export const mailStates = ['pending', 'held', 'sent', 'failed'] as const;
export type MailState = (typeof mailStates)[number];

const mostData = 10;
const longestData = 2_000;

/** The texts that a mail mentions, by name. */
const MailData = (): PropertyDecorator =>
  applyDecorators(
    ValidateBy({
      name: 'mailData',
      validator: {
        validate: (value) => {
          if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
          const texts: unknown[] = Object.values(value as Record<string, unknown>);
          return texts.length <= mostData && texts.every((one) => typeof one === 'string' && one.length <= longestData);
        },
        defaultMessage: () => `must be an object of at most ${mostData} texts of at most ${longestData} characters`,
      },
    }),
    Schema({ type: 'object', maxProperties: mostData, additionalProperties: { type: 'string', maxLength: longestData } }),
  );

/** A mail about an account. */
export class OutgoingMail {
  /** A mail that is sent twice keeps its id, and is accepted once. */
  @Uuid()
  id: string;

  @OneOf(accountMailKinds)
  kind: AccountMailKind;

  @Uuid()
  userId: string;

  @EmailAddress()
  address: string;

  /** Such as `username` and `at` (a date-time), by kind also `link`, `minutes`, `device`, `network`, `keyName`, `codesLeft` and `role`. A link is a secret. */
  @MailData()
  data: Readonly<Record<string, string>>;
}

/** Whom mail about orders goes to: the verified address of a user who wants it. Without an address the user gets none. */
export class MailRecipient {
  @Uuid()
  userId: string;

  /** Of the user. Only a newer one than the last applies. */
  @Integer(0, Number.MAX_SAFE_INTEGER)
  version: number;

  @IsOptional()
  @EmailAddress()
  address?: string;

  @IsOptional()
  @Text({ max: 64 })
  username?: string;
}

export class AcceptMails {
  @ObjectsOf(() => OutgoingMail, { size: 100 })
  mails: OutgoingMail[];

  @ObjectsOf(() => MailRecipient, { size: 100 })
  recipients: MailRecipient[];
}

/** Newest first. */
export class ListMails extends PageRequest {
  @IsOptional()
  @OneOf(mailStates)
  state?: MailState;

  @IsOptional()
  @OneOf(mailKinds)
  kind?: MailKind;

  @IsOptional()
  @Uuid()
  @Description('Only mails to the user with this id, which is the `subject` of the audit log.')
  userId?: string;

  @IsOptional()
  @Text()
  @Description('Only mails to the user with this name.')
  username?: string;
}

export class ResendMail {
  @Uuid()
  mailId: string;
}

// Answers

const mailAnswer = objectOf('Mail', 'A mail to a user. Its text and its links are never shown.')({
  id: uuid,
  kind: oneOf<MailKind>(mailKinds),
  userId: uuid,
  username: optional(described(text(64), 'In lists, unless the user was deleted.')),
  orderId: optional(id),
  address: optional(described(text(254), 'Masked: `a…@example.com`. Absent before the first attempt of a mail about an order.')),
  state: oneOf<MailState>(mailStates),
  attempts: integer(0),
  createdAt: instant,
  nextAttemptAt: optional(instant),
  endedAt: optional(described(instant, 'When it was sent, or failed.')),
  lastError: optional(described(text(500), 'Why the last attempt failed, with addresses masked.')),
});

export type Mail = AnswerOf<typeof mailAnswer>;

const { read, write } = operationsOf<ErrorCode, Account>('notifications');
const forClients = forClientsUnder('Users');

export const mailOperations = {
  /** `mail-disabled` if there are mails and the shop has no mail server; recipients alone are always accepted. Safe to repeat. */
  acceptMails: write<Record<string, never>>()('acceptMails', AcceptMails, { callers: ['identity'], errors: ['mail-disabled'] }),
  /** Answers a page. */
  listMails: forClients(read<Mail[]>()('listMails', ListMails, { errors: ['forbidden', 'invalid-cursor', 'user-not-found'] }), {
    route: 'GET /v3/mails',
    access: permission('write:users'),
    summary: 'List mails to users',
    description: 'Newest first. Ended mails are retained for 30 days.',
    query: ['state', 'kind', 'userId', 'username', 'limit', 'cursor'],
    answer: listOf(mailAnswer, 1_000),
  }),
  resendMail: forClients(
    write<Mail>()('resendMail', ResendMail, { errors: ['forbidden', 'mail-not-found', 'mail-not-resendable', 'mail-disabled', 'idempotency-key-reused'] }),
    {
      route: 'POST /v3/mails/:mailId/resend',
      access: permission('write:users'),
      summary: 'Send a mail again',
      description: 'Adds a copy of a mail about an order that was sent or failed, or of a failed mail about an account whose link has not ended. Send no body.',
      answer: mailAnswer,
    },
  ),
};
