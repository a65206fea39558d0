import { revocationKey, type RevocationLog } from './revocation-log.js';

/** An answer of identity, with the log position of the snapshot that it was read from. */
export interface LogPositioned {
  readonly position: number;
}

export interface CredentialCacheOptions<T> {
  readonly maxEntries: number;
  /** How long an answer is kept at most, in milliseconds; `expiresAt` may end it earlier. */
  readonly maxAgeMs: number;
  /** Milliseconds since the epoch, by identity's clock. */
  readonly expiresAt?: (answer: T) => number | undefined;
  readonly isRevokedBy: (answer: T, revoked: ReadonlySet<string>) => boolean;
}

interface CacheEntry<T> {
  readonly answer: T;
  /** By this process's monotonic clock. */
  readonly staleAt: number;
  /** Milliseconds since the epoch, by identity's clock; Infinity for never. */
  readonly expiresAt: number;
}

interface PendingRequest<T> {
  readonly answer: Promise<T>;
  readonly generation: number;
}

/**
 * Answers of identity that need not be asked again while the revocation log is followed; the least recently used go
 * first. An answer that is older than what the follower knows may lack a revocation that the follower has already seen
 * and will not see again: it serves the request that asked, and is not kept.
 */
export class CredentialCache<T extends LogPositioned> {
  private readonly entries = new Map<string, CacheEntry<T>>();
  private readonly pending = new Map<string, PendingRequest<T>>();

  constructor(
    private readonly log: Pick<RevocationLog, 'listen' | 'position' | 'generation' | 'identityTime'>,
    private readonly options: CredentialCacheOptions<T>,
    private readonly now: () => number = () => performance.now(),
  ) {
    log.listen({
      revoked: (entries) => this.evict(new Set(entries.map(({ kind, id }) => revocationKey(kind, id)))),
      forget: () => this.entries.clear(),
    });
  }

  get size(): number {
    return this.entries.size;
  }

  /** Only for callers that have just found the log fresh. */
  get(key: string): T | undefined {
    const found = this.entries.get(key);
    if (found === undefined) return undefined;
    this.entries.delete(key);
    if (found.staleAt <= this.now() || found.expiresAt <= this.log.identityTime()) return undefined;
    this.entries.set(key, found);
    return found.answer;
  }

  /** The kept answer, or a new one; requests that ask for the same at the same time share one question. */
  async getOrFetch(key: string, ask: () => Promise<T>): Promise<T> {
    const kept = this.get(key);
    if (kept !== undefined) return kept;
    const { position } = this.log;
    const shared = this.pending.get(key);
    if (shared?.generation === this.log.generation) {
      const answer = await shared.answer;
      // It may have been read before a revocation that was known here when this request came.
      if (answer.position >= position && shared.generation === this.log.generation) return answer;
    }
    return this.fetch(key, ask);
  }

  private async fetch(key: string, ask: () => Promise<T>): Promise<T> {
    const question: PendingRequest<T> = { answer: ask(), generation: this.log.generation };
    this.pending.set(key, question);
    try {
      const answer = await question.answer;
      if (answer.position >= this.log.position && question.generation === this.log.generation) this.store(key, answer);
      return answer;
    } finally {
      if (this.pending.get(key) === question) this.pending.delete(key);
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
