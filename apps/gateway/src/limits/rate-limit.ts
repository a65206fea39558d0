export interface Taken {
  /** Requests left in this window; negative when this one was too many. */
  readonly left: number;
  /** Seconds until the window ends. */
  readonly resetSeconds: number;
}

const windowMs = 60_000;

/**
 * Requests a minute per key, in fixed windows that begin for all keys at once, so that one clear forgets them. Keys beyond
 * the bound share one counter: memory stays bounded however many addresses ask.
 */
export class RateLimit {
  private counts = new Map<string, number>();
  private windowEnds: number;

  constructor(
    readonly perMinute: number,
    private readonly now: () => number = () => performance.now(),
    private readonly maxKeys = 100_000,
  ) {
    this.windowEnds = now() + windowMs;
  }

  /** @param requests as how many this one counts; where there are never so many, as all of them */
  take(key: string, requests = 1): Taken {
    const resetSeconds = this.turnWindow();
    const known = this.counts.get(key);
    const counted = known === undefined && this.counts.size >= this.maxKeys ? '' : key;
    const count = (known ?? this.counts.get(counted) ?? 0) + Math.min(requests, this.perMinute);
    this.counts.set(counted, count);
    return { left: this.perMinute - count, resetSeconds };
  }

  /** Whether the next `take` would be too many. */
  isUsedUp(key: string): boolean {
    this.turnWindow();
    return (this.counts.get(key) ?? 0) >= this.perMinute;
  }

  private turnWindow(): number {
    const now = this.now();
    if (now >= this.windowEnds) {
      this.counts = new Map();
      this.windowEnds = now + windowMs;
    }
    return Math.ceil((this.windowEnds - now) / 1000);
  }
}
