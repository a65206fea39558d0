import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { hash, verify } from '@node-rs/argon2';
import { unavailable } from '@plant-shop/platform/errors';
import type { Deadline } from '@plant-shop/platform/rpc/deadline';
import { Slots } from './slots.js';

export interface HashingCost {
  /** KiB of memory for one hash. */
  readonly memoryCost: number;
  readonly timeCost: number;
  readonly parallelism: number;
}

/** OWASP's minimum for argon2id: 14 ms alone, 140 hashes/s on 2 cores (measured on the development machine). */
export const productionCost: HashingCost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** At 140 hashes/s, what waits longer than this list would be past its deadline anyway. */
const maxWaiting = 1_000;

/**
 * Hashes and checks passwords with argon2id (the library's default) in libuv's threads; the event loop only waits.
 * There are as many slots as cores, and never all four of libuv's threads: files and name look-ups need some too.
 */
export class PasswordHasher {
  private readonly slotCount = Math.min(3, availableParallelism());
  private readonly slots = new Slots(this.slotCount, maxWaiting);

  private constructor(
    private readonly cost: HashingCost,
    private readonly dummy: string,
  ) {}

  static async create(cost: HashingCost): Promise<PasswordHasher> {
    return new PasswordHasher(cost, await hash(randomBytes(32), cost));
  }

  /** @throws CodedError `unavailable` when its turn comes after the deadline, `overloaded` */
  hash(password: string, deadline: Deadline): Promise<string> {
    return this.inTime(deadline, () => hash(password, this.cost));
  }

  /**
   * All of them, in their order. Only as many as there are slots wait for a slot at the same time, so that a login
   * beside a list of 500 waits for two hashes and not for 500.
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
    await Promise.all(Array.from({ length: this.slotCount }, worker));
    return hashed;
  }

  /** Whether the password is the hashed one. Without a hash it takes the same time and is false. */
  async verify(hashed: string | undefined, password: string, deadline: Deadline): Promise<boolean> {
    const right = await this.inTime(deadline, () => verify(hashed ?? this.dummy, password));
    return hashed !== undefined && right;
  }

  get waiting(): number {
    return this.slots.waiting;
  }

  private inTime<T>(deadline: Deadline, work: () => Promise<T>): Promise<T> {
    return this.slots.run(() => {
      if (deadline.isPast) throw unavailable('identity');
      return work();
    });
  }
}
