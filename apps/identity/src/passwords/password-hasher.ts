import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { hash, verify } from '@node-rs/argon2';
import { CodedError, overloaded, theService, unavailable } from '@plant-shop/platform/errors';
import type { Deadline } from '@plant-shop/platform/rpc/context';
import type { HashingCost } from '../options.js';
import { HashingQueue } from './hashing-queue.js';

/** OWASP's minimum for argon2id: 14 ms alone, 140 hashes/s on 2 cores (measured on the development machine). */
export const productionCost: HashingCost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/**
 * Returns the form of a password that is measured and hashed: systems send the same typed characters composed or decomposed, wide
 * or narrow (NFKC, NIST SP 800-63B, 3.1.1.2).
 */
export const normalizedPassword = (password: string): string => password.normalize('NFKC');

/** At 140 hashes/s, work behind a longer queue would miss its deadline anyway. */
const maxWaiting = 1_000;
/** Weight of the newest measurement in the average time of a hash. */
const newest = 0.1;
/** After so long without a hash the average says nothing about the load now. */
const staleAfterMs = 5_000;

/**
 * Hashes and verifies passwords with argon2id (the library's default) in libuv's threads, off the event loop. One hash runs
 * per core, at most three: file access and DNS lookups need one of libuv's four threads. Registrations wait for everything else.
 */
export class PasswordHasher {
  private readonly concurrency = Math.min(3, availableParallelism());
  private readonly queue = new HashingQueue(this.concurrency);

  private constructor(
    private readonly cost: HashingCost,
    private readonly dummy: string,
    /** Time of a hash without load, in milliseconds. */
    private readonly quietMs: number,
  ) {}

  /** Average time of recent hashes, in milliseconds. */
  private recentMs = 0;
  private measuredAt = -Infinity;

  static async create(cost: HashingCost): Promise<PasswordHasher> {
    await hash(randomBytes(32), cost);
    const startedAt = performance.now();
    const dummy = await hash(randomBytes(32), cost);
    return new PasswordHasher(cost, dummy, performance.now() - startedAt);
  }

  /** @throws CodedError `unavailable` when its turn comes only after the deadline, `overloaded` when the queue is full */
  hash(password: string, deadline: Deadline): Promise<string> {
    return this.runUrgently(deadline, () => hash(normalizedPassword(password), this.cost));
  }

  /**
   * Hashes the passwords of a registration, and returns them in order. Logins overtake it, and other networks take turns with it.
   * @param network where it comes from
   * @throws CodedError `overloaded`, before it hashes anything, when they would not be done before the deadline; `unavailable` when
   * they were not, because others came
   */
  hashAll<T extends { readonly password: string }>(
    owners: readonly T[],
    deadline: Deadline,
    network = '',
  ): Promise<{ readonly owner: T; readonly passwordHash: string }[]> {
    const neededMs = (this.queue.turnsUntilEnd(network, owners.length) / this.concurrency) * this.hashMs();
    if (neededMs > deadline.leftMs) return Promise.reject(tooMany(owners.length, neededMs - deadline.leftMs));
    const { promise, resolve, reject } = Promise.withResolvers<{ readonly owner: T; readonly passwordHash: string }[]>();
    const hashed: { owner: T; passwordHash: string }[] = [];
    let left = owners.length;
    const waiting = owners.map((owner, n) => async (): Promise<void> => {
      try {
        hashed[n] = { owner, passwordHash: await this.measured(() => hash(normalizedPassword(owner.password), this.cost)) };
        if (--left === 0) resolve(hashed);
      } catch (error) {
        reject(error);
      }
    });
    this.queue.add({
      network,
      waiting,
      isLate: () => deadline.isPast,
      refuse: (reason) => reject(reason === 'late' ? unavailable(theService('identity')) : tooMany(owners.length, neededMs)),
    });
    return promise;
  }

  /**
   * Returns whether the password matches. Without a hash it returns false after the same time.
   * A form that is not normal is tried too, for hashes from before passwords were normalized.
   */
  async verify(hashed: string | undefined, password: string, deadline: Deadline): Promise<boolean> {
    for (const form of new Set([normalizedPassword(password), password])) {
      const matches = await this.runUrgently(deadline, () => verify(hashed ?? this.dummy, form));
      if (matches) return hashed !== undefined;
    }
    return false;
  }

  get waiting(): number {
    return this.queue.waiting;
  }

  private runUrgently<T>(deadline: Deadline, work: () => Promise<T>): Promise<T> {
    if (this.queue.waitingUrgent >= maxWaiting) return Promise.reject(overloaded(theService('identity')));
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.queue.addUrgent(async () => {
      if (deadline.isPast) reject(unavailable(theService('identity')));
      else await this.measured(work).then(resolve, reject);
    });
    return promise;
  }

  private async measured<T>(work: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    const result = await work();
    this.recentMs = this.hashMs() + newest * (performance.now() - startedAt - this.hashMs());
    this.measuredAt = performance.now();
    return result;
  }

  private hashMs(): number {
    return performance.now() - this.measuredAt > staleAfterMs ? this.quietMs : this.recentMs;
  }
}

const tooMany = (passwords: number, waitMs: number): CodedError =>
  new CodedError('overloaded', `${passwords === 1 ? 'The password' : `The ${passwords} passwords`} cannot be hashed in time now. Nobody was created; try again later${passwords === 1 ? '' : ', or with a shorter list'}.`, {
    retryAfter: Math.max(1, Math.ceil(waitMs / 1_000)),
  });
