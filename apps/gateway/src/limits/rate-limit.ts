import { createHash } from 'node:crypto';

/** Where a key stands after a request. */
export interface Standing {
  /** Requests left in this window; negative when this one was too many. */
  readonly left: number;
  /** Seconds until the window ends. */
  readonly resetSeconds: number;
}

/** What one replica has counted in a window, by hashed key. Counts only go up, so the highest of each is the latest. */
export interface Counts {
  readonly window: number;
  readonly replica: string;
  readonly counts: readonly (readonly [hash: string, count: number])[];
}

interface Tally {
  readonly hash: string;
  own: number;
  /** What other replicas have told, added up. */
  others: number;
  byReplica: Map<string, number> | undefined;
  /** Counted since the others were told. */
  isUntold: boolean;
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
  private byKey = new Map<string, Tally>();
  private byHash = new Map<string, Tally>();
  private untold: Tally[] = [];
  /** Told by replicas whose clock is in the next window already. */
  private early: Counts[] = [];
  private readonly overflow: Tally = { hash: '', own: 0, others: 0, byReplica: undefined, isUntold: true };
  private window: number;

  constructor(
    readonly perMinute: number,
    private readonly now: () => number = () => Date.now(),
    private readonly maxKeys = 100_000,
  ) {
    this.window = Math.floor(now() / windowMs);
  }

  /** @param requests as how many this one counts; where there are never so many, as all of them */
  take(key: string, requests = 1): Standing {
    const resetSeconds = this.turnWindow();
    const tally = this.byKey.get(key) ?? this.tallyOf(key);
    // What is used up already is used up everywhere, and told no more.
    if (!tally.isUntold && tally.own < this.perMinute) {
      tally.isUntold = true;
      this.untold.push(tally);
    }
    tally.own += Math.min(requests, this.perMinute);
    return { left: this.perMinute - tally.own - tally.others, resetSeconds };
  }

  /** Whether the next `take` would be too many. */
  isUsedUp(key: string): boolean {
    this.turnWindow();
    const { own, others } = this.byKey.get(key) ?? this.tallyOf(key);
    return own + others >= this.perMinute;
  }

  /** At most `max` of the counts that others have not been told yet; the rest is left for the next time. */
  takeUntold(max: number): Omit<Counts, 'replica'> {
    this.turnWindow();
    const told = this.untold.splice(0, max);
    for (const tally of told) tally.isUntold = false;
    return { window: this.window, counts: told.map(({ hash, own }) => [hash, own]) };
  }

  /** Tells again what is much, for those who did not hear it the first time. */
  tellAgain(): void {
    this.turnWindow();
    for (const tally of this.byKey.values()) {
      if (tally.isUntold || tally.own * 100 < this.perMinute) continue;
      tally.isUntold = true;
      this.untold.push(tally);
    }
  }

  hear(told: Counts): void {
    this.turnWindow();
    if (told.window === this.window + 1 && this.early.length < maxEarly) this.early.push(told);
    if (told.window === this.window) this.add(told);
  }

  private add({ replica, counts }: Counts): void {
    for (const [hash, count] of counts) {
      const tally = this.byHash.get(hash) ?? this.make(hash);
      if (!tally) continue;
      tally.byReplica ??= new Map();
      const known = tally.byReplica.get(replica);
      if (known === undefined && tally.byReplica.size >= maxReplicas) continue;
      if (count <= (known ?? 0)) continue;
      tally.byReplica.set(replica, count);
      tally.others += count - (known ?? 0);
    }
  }

  /** The first time that a key comes in a window. */
  private tallyOf(key: string): Tally {
    const hash = hashOf(key);
    const tally = this.byHash.get(hash) ?? this.make(hash);
    if (!tally) return this.overflow;
    this.byKey.set(key, tally);
    return tally;
  }

  private make(hash: string): Tally | undefined {
    if (this.byHash.size >= this.maxKeys) return undefined;
    const tally: Tally = { hash, own: 0, others: 0, byReplica: undefined, isUntold: false };
    this.byHash.set(hash, tally);
    return tally;
  }

  /** @returns the seconds that are left of it */
  private turnWindow(): number {
    const now = this.now();
    const window = Math.floor(now / windowMs);
    if (window !== this.window) this.begin(window);
    return Math.ceil(((window + 1) * windowMs - now) / 1000);
  }

  private begin(window: number): void {
    this.window = window;
    this.byKey = new Map();
    this.byHash = new Map();
    this.untold = [];
    this.overflow.own = 0;
    const { early } = this;
    this.early = [];
    for (const told of early) if (told.window === window) this.add(told);
  }
}

/** 96 bits: no credential leaves the process, and no two keys meet. */
const hashOf = (key: string): string => createHash('sha256').update(key).digest('base64url').slice(0, 16);
