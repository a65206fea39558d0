import { Inject, Injectable } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import { networkOf } from '@plant-shop/platform/http/request';
import { Cipher } from '@plant-shop/platform/cipher';
import type { Logger } from '@plant-shop/platform/logging';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import { IDENTITY_OPTIONS, type IdentityOptions } from '../options.js';
import { sha256 } from '../secrets/secrets.js';
import { usernameKey } from './user.js';

export interface FailureCount {
  /** Hash of the name or network; the column `subject`. */
  readonly hash: Buffer;
  /** Failures in the window, including this attempt. */
  readonly failures: number;
  /** Also identifies the window. */
  readonly windowEndsAt: Date;
  readonly secondsLeft: number;
}

/** Wrong codes of a user in 15 minutes. Who knows the password then needs two years, on average, to guess six digits, of which three are right at a time. */
const codesPerUser = 5;

/** True for windows that have ended, and for those that end later than any can: the database's clock was set back. */
const isOver = `(f.window_ends_at <= now() OR f.window_ends_at > excluded.window_ends_at + interval '1 minute')`;

/** Counts one failed attempt for each hash, until it is undone. Sorts the hashes, so that attempts cannot deadlock. */
function countAttempt(tx: Transaction, hashes: readonly Buffer[]): Promise<FailureCount[]> {
  return tx.query<FailureCount>(
    {
      name: 'count-login-attempt',
      text: `
        INSERT INTO login_failures AS f (subject, failures, window_ends_at)
        SELECT s, 1, date_trunc('milliseconds', now() + interval '15 minutes') FROM unnest($1::bytea[]) AS s ORDER BY s
        ON CONFLICT (subject) DO UPDATE SET
          failures = CASE WHEN ${isOver} THEN 1 ELSE f.failures + 1 END,
          window_ends_at = CASE WHEN ${isOver} THEN excluded.window_ends_at ELSE f.window_ends_at END
        RETURNING subject AS hash, failures, window_ends_at AS "windowEndsAt",
          ceil(extract(epoch FROM window_ends_at - now()))::integer AS "secondsLeft"`,
    },
    [hashes],
  );
}

/** Returns the counts of windows that go on, without waiting for attempts that are being counted. */
function readCounts(tx: Transaction, hashes: readonly Buffer[]): Promise<FailureCount[]> {
  return tx.query<FailureCount>(
    {
      name: 'read-login-attempts',
      text: `
        SELECT subject AS hash, failures, window_ends_at AS "windowEndsAt", ceil(extract(epoch FROM window_ends_at - now()))::integer AS "secondsLeft"
        FROM login_failures WHERE subject = ANY ($1::bytea[]) AND window_ends_at > now() AND window_ends_at <= now() + interval '16 minutes'`,
    },
    [hashes],
  );
}

/** Removes a successful attempt from the counts. Leaves a new window alone if the attempt's window has ended. */
async function undoAttempt(tx: Transaction, attempts: readonly FailureCount[]): Promise<void> {
  await tx.execute(
    {
      name: 'take-back-login-attempt',
      text: `
        WITH counted AS MATERIALIZED (
          SELECT f.subject FROM login_failures f
          JOIN unnest($1::bytea[], $2::timestamptz[]) AS t (subject, window_ends_at) USING (subject, window_ends_at)
          ORDER BY f.subject FOR UPDATE OF f)
        UPDATE login_failures f SET failures = f.failures - 1 FROM counted WHERE counted.subject = f.subject`,
    },
    [attempts.map((one) => one.hash), attempts.map((one) => one.windowEndsAt)],
  );
}

export function deleteOldFailures(tx: Transaction): Promise<number> {
  return tx.execute('DELETE FROM login_failures WHERE window_ends_at < now()');
}

/** An attempt as the log shows it. Without a name: of an OAuth client. */
interface Attempt {
  readonly address: string;
  readonly username?: string;
  readonly userAgent?: string | undefined;
}

/** A name or network whose failed attempts are counted. */
interface Counted {
  readonly hash: Buffer;
  /** Maximum failures in a window. */
  readonly limit: number;
}

/**
 * Limits how often secrets can be guessed: passwords by name and network, codes by user and network, clients' secrets by network. Mails and costly
 * uses are counted in the same table. An attempt counts as failed before the secret is checked, and is undone when the
 * secret was right: counting afterwards would let any number of concurrent guesses through.
 */
@Injectable()
export class LoginAttempts {
  /** Counts failures, for an alert. */
  onFailure: ((outcome: 'wrong' | 'blocked') => void) | undefined;

  constructor(
    private readonly database: Database,
    private readonly cipher: Cipher,
    @Inject(IDENTITY_OPTIONS) private readonly options: IdentityOptions,
    @InjectLogger() private readonly logger: Logger,
  ) {}

  /**
   * Runs one login with a name from an address.
   * @param login returns undefined when the secret is wrong
   * @param userAgent for the log
   * @returns the result of `login`, and how many more attempts may fail in this window
   * @throws DomainError `too-many-logins`. Rethrows errors of `login`; they do not count as failures.
   */
  async runForUser<T>(
    username: string,
    address: string,
    login: () => Promise<T | undefined>,
    userAgent?: string,
  ): Promise<{ readonly result: T | undefined; readonly attemptsLeft: number }> {
    const name: Counted = { hash: hashOfName(username), limit: this.options.loginLimits.perUser };
    const { result, counts } = await this.countAndRun([name, this.networkAt(address)], login, { address, username, userAgent });
    const failures = counts.find((one) => one.of === name)?.failures ?? 0;
    // The count includes this attempt, which did not fail if there is a result.
    return { result, attemptsLeft: Math.max(0, name.limit - failures + (result === undefined ? 0 : 1)) };
  }

  /**
   * Checks one code of a second factor. Codes have their own count, since they are shorter than passwords, and someone who types them knows the
   * password already.
   * @param check returns whether the code is right
   * @throws DomainError `too-many-logins`
   */
  async runForCode({ userId, username }: { readonly userId: string; readonly username: string }, address: string, check: () => Promise<boolean>): Promise<boolean> {
    const codes: Counted = { hash: sha256(`codes of ${userId}`), limit: codesPerUser };
    const { result } = await this.countAndRun([codes, this.networkAt(address)], async () => (await check()) || undefined, { address, username });
    return result === true;
  }

  /** Runs one client authentication from an address. */
  async runForAddress<T>(address: string, authenticate: () => Promise<T | undefined>): Promise<T | undefined> {
    return (await this.countAndRun([this.networkAt(address)], authenticate, { address })).result;
  }

  /**
   * Counts a mail that someone asks for.
   * @param what the account or address that it is for, in the form by which they are compared
   * @param address of the client
   * @throws DomainError `too-many-mails`, which must end the transaction: a refused mail does not count
   */
  async countMail(tx: Transaction, what: string, address: string): Promise<void> {
    const { perAddress, perNetwork } = this.options.mailLimits;
    const [subject, network] = [hashOfMail(what), sha256(`network of mails:${networkOf(address)}`)];
    const refuseBeyond = (counts: readonly FailureCount[], more: number): void => {
      const waits = counts.flatMap(({ hash, failures, secondsLeft }) => (failures + more > (hash.equals(subject) ? perAddress : perNetwork) ? secondsLeft : []));
      if (waits.length > 0) throw tooManyMails(Math.max(1, ...waits));
    };
    // A flood only reads: in the queue for its account's row, it would take all connections to the database.
    refuseBeyond(await readCounts(tx, [subject, network]), 1);
    refuseBeyond(await countAttempt(tx, [subject, network]), 0);
  }

  /** Counts mails that follow from something else. @returns for which of these the limit is exceeded */
  async countMails(tx: Transaction, whats: readonly string[]): Promise<ReadonlySet<string>> {
    const byHash = new Map(whats.map((what) => [hashOfMail(what).toString('hex'), what]));
    const counts = await countAttempt(tx, [...byHash.keys()].map((hash) => Buffer.from(hash, 'hex')));
    const exceeded = counts.filter(({ failures }) => failures > this.options.mailLimits.perAddress);
    return new Set(exceeded.flatMap(({ hash }) => byHash.get(hash.toString('hex')) ?? []));
  }

  /**
   * Counts something costly that a user asks for.
   * @param what the user and what it is
   * @param limit in 15 minutes
   * @returns how long to wait, in seconds, if the limit is exceeded
   */
  async countUse(tx: Transaction, what: string, limit: number): Promise<number | undefined> {
    const [count] = await countAttempt(tx, [sha256(`use:${what}`)]);
    return count && count.failures > limit ? Math.max(1, count.secondsLeft) : undefined;
  }

  /** Forgets failed logins with a name, for a user who has proven to be its owner. */
  async forgive(tx: Transaction, username: string): Promise<void> {
    await tx.execute('DELETE FROM login_failures WHERE subject = $1', [hashOfName(username)]);
  }

  private networkAt(address: string): Counted {
    return { hash: sha256(`network:${networkOf(address)}`), limit: this.options.loginLimits.perNetwork };
  }

  private async countAndRun<T>(
    counted: readonly Counted[],
    work: () => Promise<T | undefined>,
    attempt: Attempt,
  ): Promise<{
    readonly result: T | undefined;
    readonly counts: readonly (FailureCount & { readonly of: Counted })[];
  }> {
    const byHash = new Map(counted.map((one) => [one.hash.toString('hex'), one]));
    const counts = await this.database.transaction(async (tx) => {
      const rows = await countAttempt(tx, counted.map((one) => one.hash));
      const counts = rows.flatMap((row) => {
        const of = byHash.get(row.hash.toString('hex'));
        return of ? [{ ...row, of }] : [];
      });
      const waits = counts.flatMap(({ failures, of, secondsLeft }) => (failures > of.limit ? secondsLeft : []));
      // Rolls the counts back too: a blocked address must not use up attempts of names. It is reported once: a refusal does not run again.
      if (waits.length > 0) this.report(attempt, 'blocked');
      if (waits.length > 0) throw tooManyLogins(Math.max(1, ...waits));
      return counts;
    });
    let result: T | undefined;
    let failed = false;
    try {
      result = await work();
      failed = result === undefined;
    } finally {
      // If this fails after a login, its attempt stays counted and its session ends unused: the client gets the error and logs in again.
      if (!failed) await this.database.transaction((tx) => undoAttempt(tx, counts));
    }
    if (failed) this.report(attempt, 'wrong');
    return { result, counts };
  }

  /** Logs a failure. The name only as a keyed hash: people sometimes type their password into the name field. */
  private report({ address, username, userAgent }: Attempt, outcome: 'wrong' | 'blocked'): void {
    this.onFailure?.(outcome);
    const name = username === undefined ? undefined : this.cipher.fingerprint(`name of a login ${usernameKey(username)}`).toString('base64url').slice(0, 16);
    this.logger.info({ outcome, network: networkOf(address), name, userAgent }, 'login failed');
  }
}

const hashOfMail = (what: string): Buffer => sha256(`mail:${what}`);

/** Names that differ only in case are one name. */
export const hashOfName = (username: string): Buffer => sha256(`user:${usernameKey(username)}`);

/** Says how long to wait. */
export function minutesOf(seconds: number): string {
  const minutes = Math.ceil(seconds / 60);
  return `${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`;
}

const tooManyLogins = (retryAfterSeconds: number): DomainError =>
  new DomainError('too-many-logins', `Too many failed logins. Try again in ${minutesOf(retryAfterSeconds)}.`, { retryAfter: retryAfterSeconds });

const tooManyMails = (retryAfterSeconds: number): DomainError =>
  new DomainError('too-many-mails', `Too many mails were asked for. Look for those that were sent, or ask again in ${minutesOf(retryAfterSeconds)}.`, { retryAfter: retryAfterSeconds });
