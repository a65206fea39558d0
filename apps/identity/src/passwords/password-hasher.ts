import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { hash, verify } from '@node-rs/argon2';
import { overloaded, theService, unavailable } from '@plant-shop/platform/errors';
import type { Deadline } from '@plant-shop/platform/rpc/context';
import { Semaphore } from '@plant-shop/platform/patterns/semaphore';
import type { HashingCost } from '../options.js';

/** OWASP's minimum for argon2id: 14 ms alone, 140 hashes/s on 2 cores (measured on the development machine). */
export const productionCost: HashingCost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/**
 * Returns the form of a password that is measured and hashed: systems send the same typed characters composed or decomposed, wide
 * or narrow (NFKC, NIST SP 800-63B, 3.1.1.2).
 */
export const normalizedPassword = (password: string): string => password.normalize('NFKC');

/** At 140 hashes/s, work behind a longer queue would miss its deadline anyway. */
const maxWaiting = 1_000;

/**
 * Hashes and verifies passwords with argon2id (the library's default) in libuv's threads, off the event loop. One hash runs
 * per core, at most three: file access and DNS lookups need one of libuv's four threads.
 */
export class PasswordHasher {
  private readonly concurrency = Math.min(3, availableParallelism());
  private readonly semaphore = new Semaphore(this.concurrency);

  private constructor(
    private readonly cost: HashingCost,
    private readonly dummy: string,
  ) {}

  static async create(cost: HashingCost): Promise<PasswordHasher> {
    return new PasswordHasher(cost, await hash(randomBytes(32), cost));
  }

  /** @throws CodedError `unavailable` when its turn comes only after the deadline, `overloaded` when the queue is full */
  hash(password: string, deadline: Deadline): Promise<string> {
    return this.runBefore(deadline, () => hash(normalizedPassword(password), this.cost));
  }

  /**
   * Hashes all passwords and returns them in order. Queues only as many at once as run at once, so that a login beside a
   * list of 500 waits for two hashes and not for 500.
   */
  async hashAll<T extends { readonly password: string }>(
    owners: readonly T[],
    deadline: Deadline,
  ): Promise<{ readonly owner: T; readonly passwordHash: string }[]> {
    const hashed: { owner: T; passwordHash: string }[] = [];
    const rest = owners.entries();
    const worker = async (): Promise<void> => {
      for (const [n, owner] of rest) hashed[n] = { owner, passwordHash: await this.hash(owner.password, deadline) };
    };
    await Promise.all(Array.from({ length: this.concurrency }, worker));
    return hashed;
  }

  /**
   * Returns whether the password matches. Without a hash it returns false after the same time.
   * A form that is not normal is tried too, for hashes from before passwords were normalized.
   */
  async verify(hashed: string | undefined, password: string, deadline: Deadline): Promise<boolean> {
    for (const form of new Set([normalizedPassword(password), password])) {
      const matches = await this.runBefore(deadline, () => verify(hashed ?? this.dummy, form));
      if (matches) return hashed !== undefined;
    }
    return false;
  }

  get waiting(): number {
    return this.semaphore.waiting;
  }

  private async runBefore<T>(deadline: Deadline, work: () => Promise<T>): Promise<T> {
    if (this.semaphore.waiting >= maxWaiting) throw overloaded(theService('identity'));
    return this.semaphore.run(() => {
      if (deadline.isPast) throw unavailable(theService('identity'));
      return work();
    });
  }
}
