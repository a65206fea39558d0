import { createHash } from 'node:crypto';
import { HttpError } from '@plant-shop/contracts/problem';

/** The status of a key after a request. */
export interface RateLimitStatus {
  /** Requests remaining in this window; negative if this one was refused. */
  readonly remaining: number;
  /** Seconds until the window ends in which a debt is paid; without one, this window. */
  readonly resetSeconds: number;
}

/** One replica's counts in a window, by hashed key. Counts only grow, so the highest of each is the latest. */
export interface ReplicaCounts {
  readonly window: number;
  readonly replica: string;
  readonly counts: readonly (readonly [hash: string, count: number])[];
}

interface KeyCounter {
  readonly hash: string;
  own: number;
  /** The part of `own` that exceeds the limit: following windows begin with it. */
  debt: number;
  /** Sum of the other replicas' counts. */
  others: number;
  byReplica: Map<string, number> | undefined;
  /** Queued for publication. */
  isPending: boolean;
}

const windowMs = 60_000;
const maxReplicas = 100;
const maxEarly = 100;

/**
 * Limits requests per key and minute, in fixed windows: the minutes of the clock, so that all replicas use the same ones.
 * Counts locally and adds the counts that other replicas publish; a request never waits for them. Each key is a grow-only
 * counter (a CRDT): messages carry a replica's whole count, so lost, repeated and reordered messages do no harm.
 *
 * A request may weigh as much as many. It is admitted while its weight remains, or half of the limit if that is less: otherwise a list
 * that weighs more than a minute's limit could never be sent. What it takes beyond the limit is a debt of the following minutes.
 * Refused requests cost nothing.
 *
 * Keys beyond `maxKeys` share one counter, so memory stays bounded for any number of addresses.
 */
export class RateLimit {
  private byKey = new Map<string, KeyCounter>();
  private byHash = new Map<string, KeyCounter>();
  private pending: KeyCounter[] = [];
  /** Counts from replicas whose clock is already in the next window. */
  private early: ReplicaCounts[] = [];
  private readonly overflow: KeyCounter = { hash: '', own: 0, debt: 0, others: 0, byReplica: undefined, isPending: true };
  private window: number;

  constructor(
    readonly perMinute: number,
    private readonly now: () => number = () => Date.now(),
    private readonly maxKeys = 100_000,
  ) {
    this.window = Math.floor(now() / windowMs);
  }

  /** Counts a request, unless it is refused. @param weight how many requests it counts as */
  take(key: string, weight = 1): RateLimitStatus {
    const { perMinute: limit } = this;
    const windowSeconds = this.rollWindow();
    const counter = this.byKey.get(key) ?? this.counterOf(key);
    const available = limit - counter.own - counter.others;
    const needed = Math.min(weight, Math.ceil(limit / 2));
    const isAdmitted = available >= needed;
    if (isAdmitted) this.add(counter, weight);
    const resetSeconds = windowSeconds + Math.max(0, Math.ceil((counter.debt + Math.max(1, needed) - limit) / limit)) * (windowMs / 1000);
    return { remaining: isAdmitted ? Math.max(0, available - weight) : Math.max(0, available) - Math.min(weight, limit), resetSeconds };
  }

  /** Counts what a request has used, whether or not that much remains. */
  charge(key: string, weight: number): void {
    this.rollWindow();
    this.add(this.byKey.get(key) ?? this.counterOf(key), weight);
  }

  private add(counter: KeyCounter, weight: number): void {
    // A limit that one replica exhausts is exhausted everywhere, so further counts are not published.
    if (!counter.isPending && counter.own < this.perMinute) {
      counter.isPending = true;
      this.pending.push(counter);
    }
    counter.debt += Math.min(weight, Math.max(0, counter.own + counter.others + weight - this.perMinute));
    counter.own += weight;
  }

  /** Whether the next `take` would exceed the limit. */
  isExhausted(key: string): boolean {
    this.rollWindow();
    const { own, others } = this.byKey.get(key) ?? this.counterOf(key);
    return own + others >= this.perMinute;
  }

  /** Removes and returns at most `max` unpublished counts. */
  takePending(max: number): Omit<ReplicaCounts, 'replica'> {
    this.rollWindow();
    const counters = this.pending.splice(0, max);
    for (const counter of counters) counter.isPending = false;
    return { window: this.window, counts: counters.map(({ hash, own }) => [hash, own]) };
  }

  /** Queues counts of at least 1 % of the limit again, for replicas that missed them. */
  requeueLargeCounts(): void {
    this.rollWindow();
    for (const counter of this.byHash.values()) {
      if (counter.isPending || counter.own * 100 < this.perMinute) continue;
      counter.isPending = true;
      this.pending.push(counter);
    }
  }

  /** Merges another replica's counts. Those of the next window wait for it; those of other windows are ignored. */
  merge(received: ReplicaCounts): void {
    this.rollWindow();
    if (received.window === this.window + 1 && this.early.length < maxEarly) this.early.push(received);
    if (received.window === this.window) this.mergeCurrent(received);
  }

  private mergeCurrent({ replica, counts }: ReplicaCounts): void {
    for (const [hash, count] of counts) {
      const counter = this.byHash.get(hash) ?? this.create(hash);
      if (!counter) continue;
      counter.byReplica ??= new Map();
      const previous = counter.byReplica.get(replica);
      if (previous === undefined && counter.byReplica.size >= maxReplicas) continue;
      if (count <= (previous ?? 0)) continue;
      counter.byReplica.set(replica, count);
      counter.others += count - (previous ?? 0);
    }
  }

  /** Returns the counter of a key that is new in this window. */
  private counterOf(key: string): KeyCounter {
    const hash = hashOf(key);
    const counter = this.byHash.get(hash) ?? this.create(hash);
    if (!counter) return this.overflow;
    this.byKey.set(key, counter);
    return counter;
  }

  private create(hash: string): KeyCounter | undefined {
    if (this.byHash.size >= this.maxKeys) return undefined;
    const counter: KeyCounter = { hash, own: 0, debt: 0, others: 0, byReplica: undefined, isPending: false };
    this.byHash.set(hash, counter);
    return counter;
  }

  /** Starts a new window when the clock has reached it. @returns seconds until the current window ends */
  private rollWindow(): number {
    const now = this.now();
    const window = Math.floor(now / windowMs);
    if (window !== this.window) this.startWindow(window);
    return Math.ceil(((window + 1) * windowMs - now) / 1000);
  }

  private startWindow(window: number): void {
    const former = this.byHash;
    const paid = this.perMinute * Math.max(0, window - this.window - 1);
    this.window = window;
    this.byKey = new Map();
    this.byHash = new Map();
    this.pending = [];
    this.overflow.own = 0;
    this.overflow.debt = 0;
    for (const { hash, debt } of former.values()) {
      if (debt <= paid) continue;
      const counter = this.create(hash);
      if (counter) this.add(counter, debt - paid);
    }
    const { early } = this;
    this.early = [];
    for (const received of early) if (received.window === window) this.mergeCurrent(received);
  }
}

/** 96 bits of SHA-256 of a user's id or a network: as short in messages as the collisions allow, which are negligible. */
const hashOf = (key: string): string => createHash('sha256').update(key).digest('base64url').slice(0, 16);

// draft-ietf-httpapi-ratelimit-headers: one policy, named "requests".

export const policyHeader = (perMinute: number): string => `"requests";q=${perMinute};w=60`;

export const limitHeader = ({ remaining, resetSeconds }: RateLimitStatus): string =>
  `"requests";r=${Math.max(0, remaining)};t=${resetSeconds}`;

export const tooManyRequests = (resetSeconds: number, what = 'requests'): HttpError =>
  new HttpError(
    'too-many-requests',
    `The limit of ${what} per minute is exhausted. Try again in ${resetSeconds} s.`,
    {},
    { 'retry-after': String(Math.max(1, resetSeconds)) },
  );
