import { Inject, Injectable } from '@nestjs/common';
import { Database } from '@plant-shop/platform/postgres/database';
import { IDENTITY_OPTIONS, type IdentityOptions } from '../options.js';
import { type FailureCount, countAttempt, undoAttempt } from './login-attempts.repository.js';
import { type Subject, subjectOfAddress, subjectOfUser, tooManyLogins } from './login-limits.js';

/**
 * Limits how often secrets can be guessed. An attempt counts as failed before the secret is checked, and is undone when the
 * secret was right: counting afterwards would let any number of concurrent guesses through.
 */
@Injectable()
export class LoginAttempts {
  constructor(
    private readonly database: Database,
    @Inject(IDENTITY_OPTIONS) private readonly options: IdentityOptions,
  ) {}

  /**
   * Runs one login with a name from an address.
   * @param login returns undefined when the secret is wrong
   * @returns the result of `login`, and how many more attempts may fail in this window
   * @throws DomainError `too-many-logins`. Rethrows errors of `login`; they do not count as failures.
   */
  async runForUser<T>(
    username: string,
    address: string,
    login: () => Promise<T | undefined>,
  ): Promise<{ readonly result: T | undefined; readonly attemptsLeft: number }> {
    const { loginLimits: limits } = this.options;
    const user = subjectOfUser(username, limits);
    const { result, counted } = await this.countAndRun([user, subjectOfAddress(address, limits)], login);
    const failures = counted.find((one) => one.subject === user)?.failures ?? 0;
    // The count includes this attempt, which did not fail if there is a result.
    return { result, attemptsLeft: Math.max(0, user.limit - failures + (result === undefined ? 0 : 1)) };
  }

  /** Runs one client authentication from an address. */
  async runForAddress<T>(address: string, authenticate: () => Promise<T | undefined>): Promise<T | undefined> {
    const subject = subjectOfAddress(address, this.options.loginLimits);
    return (await this.countAndRun([subject], authenticate)).result;
  }

  private async countAndRun<T>(
    subjects: readonly Subject[],
    work: () => Promise<T | undefined>,
  ): Promise<{
    readonly result: T | undefined;
    readonly counted: readonly (FailureCount & { readonly subject: Subject })[];
  }> {
    const byHash = new Map(subjects.map((subject) => [subject.hash.toString('hex'), subject]));
    const counted = await this.database.transaction(async (tx) => {
      const rows = await countAttempt(
        tx,
        subjects.map((one) => one.hash),
      );
      const counts = rows.flatMap((row) => {
        const subject = byHash.get(row.hash.toString('hex'));
        return subject ? [{ ...row, subject }] : [];
      });
      const waits = counts.flatMap(({ failures, subject, secondsLeft }) =>
        failures > subject.limit ? secondsLeft : [],
      );
      // Rolls the counts back too: a blocked address must not use up attempts of names.
      if (waits.length > 0) throw tooManyLogins(Math.max(1, ...waits));
      return counts;
    });
    let result: T | undefined;
    let failed = false;
    try {
      result = await work();
      failed = result === undefined;
    } finally {
      if (!failed) await this.database.transaction((tx) => undoAttempt(tx, counted));
    }
    return { result, counted };
  }
}
