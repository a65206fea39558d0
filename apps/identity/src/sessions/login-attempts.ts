import { Inject, Injectable } from '@nestjs/common';
import { Database } from '@plant-shop/platform/postgres/database';
import { IDENTITY_OPTIONS, type IdentityOptions } from '../options.js';
import { type Counted, countAttempt, takeBackAttempt } from './login-attempts.repository.js';
import { type Subject, subjectOfAddress, subjectOfUser, tooManyLogins } from './login-limits.js';

/**
 * Bounds how often secrets can be guessed. An attempt counts as failed before the secret is looked at, and is taken
 * back when it was right: counting afterwards would let any number of parallel guesses through.
 */
@Injectable()
export class LoginAttempts {
  constructor(
    private readonly database: Database,
    @Inject(IDENTITY_OPTIONS) private readonly options: IdentityOptions,
  ) {}

  /**
   * Runs one login of a name from an address.
   * @param login undefined when the secret was wrong
   * @returns what it returned, and how many more logins the name may fail in this window
   * @throws DomainError `too-many-logins`, and whatever `login` throws (which does not count)
   */
  async ofUser<T>(
    username: string,
    address: string,
    login: () => Promise<T | undefined>,
  ): Promise<{ readonly result: T | undefined; readonly attemptsLeft: number }> {
    const { loginLimits: limits } = this.options;
    const user = subjectOfUser(username, limits);
    const { result, counted } = await this.counted([user, subjectOfAddress(address, limits)], login);
    const failures = counted.find((one) => one.subject === user)?.failures ?? 0;
    // The count has this attempt in it, which did not fail when there is a result.
    return { result, attemptsLeft: Math.max(0, user.limit - failures + (result === undefined ? 0 : 1)) };
  }

  /** Runs one client authentication from an address. */
  async ofAddress<T>(address: string, authenticate: () => Promise<T | undefined>): Promise<T | undefined> {
    const subject = subjectOfAddress(address, this.options.loginLimits);
    return (await this.counted([subject], authenticate)).result;
  }

  private async counted<T>(
    subjects: readonly Subject[],
    work: () => Promise<T | undefined>,
  ): Promise<{
    readonly result: T | undefined;
    readonly counted: readonly (Counted & { readonly subject: Subject })[];
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
      // Undoes the count as well: a blocked address cannot use up the attempts of other people's names.
      if (waits.length > 0) throw tooManyLogins(Math.max(1, ...waits));
      return counts;
    });
    let result: T | undefined;
    let failed = false;
    try {
      result = await work();
      failed = result === undefined;
    } finally {
      if (!failed) await this.database.transaction((tx) => takeBackAttempt(tx, counted));
    }
    return { result, counted };
  }
}
