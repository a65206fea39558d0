import { createHash } from 'node:crypto';

/** Where a key stands after a request. */
export interface RateLimitStatus {
  /** Requests left in this window; negative when this one was too many. */
  readonly remaining: number;
  /** Seconds until the window ends. */
  readonly resetSeconds: number;
}

/** What one replica has counted in a window, by hashed key. Counts only go up, so the highest of each is the latest. */
export interface ReplicaCounts {
  readonly window: number;
  readonly replica: string;
  readonly counts: readonly (readonly [hash: string, count: number])[];
}

interface KeyCounter {
  readonly hash: string;
  own: number;
  /** What other replicas have told, added up. */
  others: number;
  byReplica: Map<string, number> | undefined;
  /** Counted since the others were told. */
  isPending: boolean;
}

const windowMs = 60_000;
const maxReplicas = 100;
const maxEarly = 100;

/**
 * Requests a minute per key, in fixed windows: the minutes of the clock, so that replicas count in the same ones, and one
 * clear forgets them all. What other replicas have counted is added as they tell it; nobody is asked. Losing, doubling and
 * reordering of what they tell does no harm, since each tells the whole count of a key again (a grow-only counter).
 *
 * Keys beyond the bound share one counter: memory stays bounded however many addresses ask.
 */
export class RateLimit {
  private byKey = new Map<string, KeyCounter>();
  private byHash = new Map<string, KeyCounter>();
  private pending: KeyCounter[] = [];
  /** Told by replicas whose clock is in the next window already. */
  private early: ReplicaCounts[] = [];
  private readonly overflow: KeyCounter = { hash: '', own: 0, others: 0, byReplica: undefined, isPending: true };
  private window: number;

  constructor(
    readonly perMinute: number,
    private readonly now: () => number = () => Date.now(),
    private readonly maxKeys = 100_000,
  ) {
    this.window = Math.floor(now() / windowMs);
  }

  /** @param requests as how many this one counts; where there are never so many, as all of them */
  take(key: string, requests = 1): RateLimitStatus {
    const resetSeconds = this.rollWindow();
    const counter = this.byKey.get(key) ?? this.counterOf(key);
    // What is used up already is used up everywhere, and told no more.
    if (!counter.isPending && counter.own < this.perMinute) {
      counter.isPending = true;
      this.pending.push(counter);
    }
    counter.own += Math.min(requests, this.perMinute);
    return { remaining: this.perMinute - counter.own - counter.others, resetSeconds };
  }

  /** Whether the next `take` would be too many. */
  isExhausted(key: string): boolean {
    this.rollWindow();
    const { own, others } = this.byKey.get(key) ?? this.counterOf(key);
    return own + others >= this.perMinute;
  }

  /** At most `max` of the counts that others have not been told yet; the rest is left for the next time. */
  takePending(max: number): Omit<ReplicaCounts, 'replica'> {
    this.rollWindow();
    const told = this.pending.splice(0, max);
    for (const counter of told) counter.isPending = false;
    return { window: this.window, counts: told.map(({ hash, own }) => [hash, own]) };
  }

  /** Tells again what is much, for those who did not hear it the first time. */
  requeueLargeCounts(): void {
    this.rollWindow();
    for (const counter of this.byKey.values()) {
      if (counter.isPending || counter.own * 100 < this.perMinute) continue;
      counter.isPending = true;
      this.pending.push(counter);
    }
  }

  merge(told: ReplicaCounts): void {
    this.rollWindow();
    if (told.window === this.window + 1 && this.early.length < maxEarly) this.early.push(told);
    if (told.window === this.window) this.add(told);
  }

  private add({ replica, counts }: ReplicaCounts): void {
    for (const [hash, count] of counts) {
      const counter = this.byHash.get(hash) ?? this.make(hash);
      if (!counter) continue;
      counter.byReplica ??= new Map();
      const known = counter.byReplica.get(replica);
      if (known === undefined && counter.byReplica.size >= maxReplicas) continue;
      if (count <= (known ?? 0)) continue;
      counter.byReplica.set(replica, count);
      counter.others += count - (known ?? 0);
    }
  }

  /** The first time that a key comes in a window. */
  private counterOf(key: string): KeyCounter {
    const hash = hashOf(key);
    const counter = this.byHash.get(hash) ?? this.make(hash);
    if (!counter) return this.overflow;
    this.byKey.set(key, counter);
    return counter;
  }

  private make(hash: string): KeyCounter | undefined {
    if (this.byHash.size >= this.maxKeys) return undefined;
    const counter: KeyCounter = { hash, own: 0, others: 0, byReplica: undefined, isPending: false };
    this.byHash.set(hash, counter);
    return counter;
  }

  /** @returns the seconds that are left of it */
  private rollWindow(): number {
    const now = this.now();
    const window = Math.floor(now / windowMs);
    if (window !== this.window) this.begin(window);
    return Math.ceil(((window + 1) * windowMs - now) / 1000);
  }

  private begin(window: number): void {
    this.window = window;
    this.byKey = new Map();
    this.byHash = new Map();
    this.pending = [];
    this.overflow.own = 0;
    const { early } = this;
    this.early = [];
    for (const told of early) if (told.window === window) this.add(told);
  }
}

/** 96 bits: no credential leaves the process, and no two keys meet. */
const hashOf = (key: string): string => createHash('sha256').update(key).digest('base64url').slice(0, 16);
