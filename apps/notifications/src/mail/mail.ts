import { DomainError } from '@plant-shop/contracts/errors';
import type { Mail, MailKind, MailState } from '@plant-shop/contracts/notifications';
import { pauseAfter } from '../webhooks/queue/turn.js';

/** A mail as its row has it, without its text. */
export interface MailRecord {
  readonly position: number;
  readonly id: string;
  readonly kind: MailKind;
  readonly userId: string;
  readonly orderId: number | null;
  readonly masked: string | null;
  readonly state: MailState;
  readonly attempts: number;
  readonly createdAt: Date;
  /** Null while it is being sent, and after its end. */
  readonly nextAttemptAt: Date | null;
  readonly endedAt: Date | null;
  readonly lastError: string | null;
}

export const toMail = (row: MailRecord): Mail => ({
  id: row.id,
  kind: row.kind,
  userId: row.userId,
  ...(row.orderId !== null && { orderId: row.orderId }),
  ...(row.masked !== null && { address: row.masked }),
  state: row.state,
  attempts: row.attempts,
  createdAt: row.createdAt.toISOString(),
  ...(row.nextAttemptAt !== null && { nextAttemptAt: row.nextAttemptAt.toISOString() }),
  ...(row.endedAt !== null && { endedAt: row.endedAt.toISOString() }),
  ...(row.lastError !== null && { lastError: row.lastError }),
});

/** Throws `mail-not-found` if there is no mail. */
export function existingMail<Row extends MailRecord>(mail: Row | undefined): Row {
  if (!mail) throw new DomainError('mail-not-found', 'There is no such mail, or it has been deleted because of its age.');
  return mail;
}

/** Returns `a…@example.com` for `ann@example.com`. */
export const maskAddress = (address: string): string => address.replace(/^(.).*@/su, '$1…@');

const maxErrorChars = 500;

/** Returns the text of an error for staff: without addresses, which servers repeat in their answers, and on one line. */
export const shownError = (error: string): string =>
  error
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .replaceAll(/[^\s<>"(),:;]+@[^\s<>"(),:;]+/gu, maskAddress)
    .slice(0, maxErrorChars)
    .trim();

/** How long a link lasts if the mail does not say it. */
const usualLinkMinutes = 60;

/** Returns for how many minutes the link of a mail lasts; undefined for a mail without a link. */
export function minutesOfLink(data: Readonly<Record<string, string>>): number | undefined {
  if (data['link'] === undefined) return undefined;
  const minutes = Number(data['minutes']);
  return minutes > 0 && minutes < 1_000_000 ? minutes : usualLinkMinutes;
}

/** Longest pause of a mail with a link: its reader waits for it. */
const linkPauseMs = 300_000;

/**
 * Returns the pause after a failed attempt in milliseconds, undefined if it was the last: ten attempts in three days, as for webhooks.
 * With a link there are attempts until it ends.
 * @param attempts number of attempts, that one included
 * @param random from 0 to 1
 */
export function pauseBeforeRetry(attempts: number, hasLink: boolean, timeScale: number, random: number): number | undefined {
  const pause = pauseAfter(attempts, timeScale, random);
  return hasLink ? Math.min(pause ?? Infinity, linkPauseMs * timeScale) : pause;
}
