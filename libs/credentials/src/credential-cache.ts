import { revocationKey, type RevocationLog } from './revocation-log.js';

/** An answer from identity, with the position of the revocation log in the snapshot that it was read from. */
export interface LogPositioned {
  readonly position: number;
}

export interface CredentialCacheOptions<T> {
  readonly maxEntries: number;
  /** Milliseconds after which an answer is fetched again; `expiresAt` may end it earlier. */
  readonly maxAgeMs: number;
  /** When the answer expires: milliseconds since 1970, by identity's clock; undefined for never. */
  readonly expiresAt?: (answer: T) => number | undefined;
  /**
   * Whether to discard the answer.
   * @param revoked keys (`revocationKey`) of new entries; also of `userChanged`, after which the answer is only out of date
   */
  readonly isRevokedBy: (answer: T, revoked: ReadonlySet<string>) => boolean;
}

interface CacheEntry<T> {
  readonly answer: T;
  /** When the answer is fetched again, in milliseconds by this process's monotonic clock. */
  readonly staleAt: number;
  /** When the answer expires: milliseconds since 1970, by identity's clock; Infinity for never. */
  readonly expiresAt: number;
}

interface PendingRequest<T> {
  readonly answer: Promise<T>;
  /** The revocation log's generation when the request was sent. */
  readonly generation: number;
}

/**
 * An LRU cache of identity's answers, valid while the revocation log is followed. An answer from before the log's position may
 * lack a revocation that this process has seen and will not see again: it serves the request that fetched it, and is not
 * cached. `CredentialChecker` uses the cache only while the last pull of the log was sent at most a second ago.
 */
export class CredentialCache<T extends LogPositioned> {
  private readonly entries = new Map<string, CacheEntry<T>>();
  private readonly pending = new Map<string, PendingRequest<T>>();

  constructor(
    private readonly log: Pick<RevocationLog, 'addListener' | 'position' | 'generation' | 'identityTime'>,
    private readonly options: CredentialCacheOptions<T>,
    private readonly now: () => number = () => performance.now(),
  ) {
    log.addListener({
      revoked: (entries) => this.evict(new Set(entries.map(({ kind, id }) => revocationKey(kind, id)))),
      forget: () => this.entries.clear(),
    });
  }

  /** Returns the cached answer. The caller must have just checked that the log is fresh. */
  get(key: string): T | undefined {
    const found = this.entries.get(key);
    if (found === undefined) return undefined;
    this.entries.delete(key);
    if (found.staleAt <= this.now() || found.expiresAt <= this.log.identityTime()) return undefined;
    this.entries.set(key, found);
    return found.answer;
  }

  /** Returns the cached answer or fetches one. Concurrent calls for one key share a fetch. */
  async getOrFetch(key: string, fetch: () => Promise<T>): Promise<T> {
    const cached = this.get(key);
    if (cached !== undefined) return cached;
    const { position } = this.log;
    const shared = this.pending.get(key);
    if (shared?.generation === this.log.generation) {
      const answer = await shared.answer;
      // The shared answer may predate a revocation that was known here when this call began.
      if (answer.position >= position && shared.generation === this.log.generation) return answer;
    }
    return this.fetchAndStore(key, fetch);
  }

  private async fetchAndStore(key: string, fetch: () => Promise<T>): Promise<T> {
    const request: PendingRequest<T> = { answer: fetch(), generation: this.log.generation };
    this.pending.set(key, request);
    try {
      const answer = await request.answer;
      if (answer.position >= this.log.position && request.generation === this.log.generation) this.store(key, answer);
      return answer;
    } finally {
      if (this.pending.get(key) === request) this.pending.delete(key);
    }
  }

  private store(key: string, answer: T): void {
    const expiresAt = this.options.expiresAt?.(answer) ?? Infinity;
    this.entries.set(key, { answer, staleAt: this.now() + this.options.maxAgeMs, expiresAt });
    if (this.entries.size <= this.options.maxEntries) return;
    for (const oldest of this.entries.keys()) {
      this.entries.delete(oldest);
      break;
    }
  }

  private evict(revoked: ReadonlySet<string>): void {
    for (const [key, { answer }] of this.entries) {
      if (this.options.isRevokedBy(answer, revoked)) this.entries.delete(key);
    }
  }
}
