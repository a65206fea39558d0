import { revocationKey, type RevocationLog } from './revocation-log.js';

/** An answer of identity, with the log position of the snapshot that it was read from. */
export interface LogPositioned {
  readonly position: number;
}

export interface CredentialCacheOptions<T> {
  readonly max: number;
  /** How long an answer is kept at most, in milliseconds; `expiresAt` may end it earlier. */
  readonly keepMs: number;
  /** Milliseconds since the epoch, by identity's clock. */
  readonly expiresAt?: (answer: T) => number | undefined;
  readonly isRevokedBy: (answer: T, revoked: ReadonlySet<string>) => boolean;
}

interface Kept<T> {
  readonly answer: T;
  /** By this process's monotonic clock. */
  readonly until: number;
  /** Milliseconds since the epoch, by identity's clock; Infinity for never. */
  readonly expiresAt: number;
}

interface Asking<T> {
  readonly answer: Promise<T>;
  readonly generation: number;
}

/**
 * Answers of identity that need not be asked again while the revocation log is followed; the least recently used go
 * first. An answer that is older than what the follower knows may lack a revocation that the follower has already seen
 * and will not see again: it serves the request that asked, and is not kept.
 */
export class CredentialCache<T extends LogPositioned> {
  private readonly kept = new Map<string, Kept<T>>();
  private readonly asking = new Map<string, Asking<T>>();

  constructor(
    private readonly log: Pick<RevocationLog, 'listen' | 'position' | 'generation' | 'identityTime'>,
    private readonly options: CredentialCacheOptions<T>,
    private readonly now: () => number = () => performance.now(),
  ) {
    log.listen({
      revoked: (entries) => this.evict(new Set(entries.map(({ kind, id }) => revocationKey(kind, id)))),
      forget: () => this.kept.clear(),
    });
  }

  get size(): number {
    return this.kept.size;
  }

  /** Only for callers that have just found the log fresh. */
  get(key: string): T | undefined {
    const found = this.kept.get(key);
    if (found === undefined) return undefined;
    this.kept.delete(key);
    if (found.until <= this.now() || found.expiresAt <= this.log.identityTime()) return undefined;
    this.kept.set(key, found);
    return found.answer;
  }

  /** The kept answer, or a new one; requests that ask for the same at the same time share one question. */
  async getOrAsk(key: string, ask: () => Promise<T>): Promise<T> {
    const kept = this.get(key);
    if (kept !== undefined) return kept;
    const { position } = this.log;
    const shared = this.asking.get(key);
    if (shared?.generation === this.log.generation) {
      const answer = await shared.answer;
      // It may have been read before a revocation that was known here when this request came.
      if (answer.position >= position && shared.generation === this.log.generation) return answer;
    }
    return this.askAnew(key, ask);
  }

  private async askAnew(key: string, ask: () => Promise<T>): Promise<T> {
    const question: Asking<T> = { answer: ask(), generation: this.log.generation };
    this.asking.set(key, question);
    try {
      const answer = await question.answer;
      if (answer.position >= this.log.position && question.generation === this.log.generation) this.keep(key, answer);
      return answer;
    } finally {
      if (this.asking.get(key) === question) this.asking.delete(key);
    }
  }

  private keep(key: string, answer: T): void {
    const expiresAt = this.options.expiresAt?.(answer) ?? Infinity;
    this.kept.set(key, { answer, until: this.now() + this.options.keepMs, expiresAt });
    if (this.kept.size <= this.options.max) return;
    for (const oldest of this.kept.keys()) {
      this.kept.delete(oldest);
      break;
    }
  }

  private evict(revoked: ReadonlySet<string>): void {
    for (const [key, { answer }] of this.kept) {
      if (this.options.isRevokedBy(answer, revoked)) this.kept.delete(key);
    }
  }
}
