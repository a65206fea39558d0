import type { Revocation, Revocations } from '@plant-shop/contracts/identity';
import { unavailable } from '@plant-shop/platform/errors';
import type { Logger } from '@plant-shop/platform/logging';

/** Asks identity for what was revoked after a position, and waits for its answer no longer than this. */
export type PullRevocations = (after: number, limitMs: number) => Promise<Revocations>;

/** Who keeps answers that a revocation makes wrong. */
export interface RevocationListener {
  revoked(entries: readonly Revocation[]): void;
  /** The history was lost sight of: no kept answer can be trusted. */
  forget(): void;
}

/** An entry of the log as one text. */
export const revocationKey = (kind: Revocation['kind'], id: string): string => `${kind}:${id}`;

/** What ends access tokens. */
const endsTokens: ReadonlySet<Revocation['kind']> = new Set(['accessToken', 'client', 'grant', 'clientSecret', 'signingKey']);

export const pullIntervalMs = 250;
/** A kept answer counts only while the log was seen whole this recently. */
export const freshForMs = 1_000;
/** Until the first pull of a round is given up, and no more than identity gets while it answers at once. */
const pullsPerRound = freshForMs / pullIntervalMs;
/** Longer than any access token lives (identity retains its log as long). */
const rememberForMs = 48 * 3_600_000;

interface Answered {
  readonly sentAt: number;
  readonly revocations: Revocations;
}

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Follows identity's numbered log of revocations, so that what was checked once need not be checked again for each
 * request, and a revoked credential is refused everywhere within a second.
 *
 * One round of pulls at a time, of which the first answer counts and all others are of no effect, however late they come. Freshness
 * counts from the moment when the answered pull was sent: its answer shows that moment or a later one. The clock is monotonic, so a
 * process that was paused finds itself stale.
 */
export class RevocationLog {
  private head = 0;
  private freshAt = -Infinity;
  private breaks = 0;
  private readonly ended = new Map<string, number>();
  private readonly listeners: RevocationListener[] = [];
  private waiters: Waiter[] = [];
  private nudged = false;
  private wake: (() => void) | undefined;
  private stopped = false;
  private running: Promise<void> | undefined;
  private wasFresh = false;
  private isFailing = false;

  constructor(
    private readonly pull: PullRevocations,
    private readonly logger: Logger,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** The last number whose revocation is known here. */
  get position(): number {
    return this.head;
  }

  /** How often the history was found broken: an answer from before a break says nothing about after it. */
  get generation(): number {
    return this.breaks;
  }

  get ageMs(): number {
    return this.now() - this.freshAt;
  }

  get isFresh(): boolean {
    return this.ageMs <= freshForMs;
  }

  /** Access tokens are checked here and not at identity, so what makes them invalid is remembered. */
  isRevoked(key: string): boolean {
    return this.ended.has(key);
  }

  listen(listener: RevocationListener): void {
    this.listeners.push(listener);
  }

  start(): void {
    this.running ??= this.follow();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.wake?.();
    await this.running;
    this.answerWaiters(this.waiters, new Error('stopping'));
  }

  /** The log has grown, or may have: pulls at once. */
  nudge(): void {
    this.nudged = true;
    // While identity is away, everybody asks for it: then only time brings the next pull.
    if (!this.isFailing) this.wake?.();
  }

  /**
   * Resolves when everything that was revoked before this call is known here: after a pull that is sent after it.
   * Rejects when that pull fails.
   */
  catchUp(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiters.push({ resolve, reject });
      this.nudge();
    });
  }

  /**
   * Resolves when kept answers count.
   * @throws CodedError `unavailable` when the log cannot be followed
   */
  async becomeFollowed(): Promise<void> {
    if (this.isFresh) return;
    // Stale without a failure is this process's own pause: the pull that ends it is worth waiting for.
    if (this.isFailing) throw unavailable('identity');
    try {
      await this.catchUp();
    } catch (error) {
      throw unavailable('identity', error);
    }
  }

  /**
   * Resolves when kept answers count for the first time, or after the limit.
   * @param limitMs how long to look for it; a pull that is under way then is still waited for
   */
  async firstSeen(limitMs: number): Promise<void> {
    const until = this.now() + limitMs;
    // What is wrong with a pull that failed, the follower says; the next one may see it.
    while (!this.isFresh && !this.stopped && this.now() < until) await this.catchUp().catch(() => undefined);
  }

  private async follow(): Promise<void> {
    while (!this.stopped) {
      this.nudged = false;
      const waiting = this.waiters;
      this.waiters = [];
      try {
        await this.pullToHead();
        this.isFailing = false;
        this.answerWaiters(waiting);
      } catch (error) {
        this.isFailing = true;
        this.noteStaleness(error);
        this.answerWaiters(waiting, error);
      }
      await this.pause();
    }
  }

  private answerWaiters(waiting: readonly Waiter[], error?: unknown): void {
    for (const { resolve, reject } of waiting) {
      if (error === undefined) resolve();
      else reject(error);
    }
  }

  private async pullToHead(): Promise<void> {
    let after = this.head;
    for (;;) {
      const { sentAt, revocations } = await this.firstAnswer(after);
      if (this.stopped) return;
      const { head, entries } = revocations;
      if (isBroken(after, head, entries)) {
        this.breaks++;
        this.forget();
        this.logger.warn({ after, head }, 'the revocation log has a gap, reading it anew');
        after = 0;
        continue;
      }
      this.apply(entries);
      after = entries.at(-1)?.position ?? head;
      this.head = after;
      if (after < head) continue;
      this.becomeFresh(sentAt);
      return;
    }
  }

  /**
   * A pull whose frame went down with a replica is never answered, and as long as nobody can say, there is another one each interval
   * for another replica to answer. None takes an earlier one's place: where every pull is slow, the first is answered first.
   * Rejects when all have failed: a second after the first, or at once when nobody is there.
   */
  private firstAnswer(after: number): Promise<Answered> {
    const first = Promise.withResolvers<Answered>();
    const begun = this.now();
    let sent = 0;
    let underWay = 0;
    const send = (): void => {
      const sentAt = this.now();
      underWay++;
      if (++sent === pullsPerRound) clearInterval(timer);
      // A process that was paused for all of the second sends one more, and gives it this long.
      const limitMs = Math.max(begun + freshForMs - sentAt, pullIntervalMs);
      this.pull(after, limitMs).then(
        (revocations) => {
          clearInterval(timer);
          first.resolve({ sentAt, revocations });
        },
        (error: unknown) => {
          if (--underWay > 0) return;
          clearInterval(timer);
          first.reject(error);
        },
      );
    };
    const timer = setInterval(send, pullIntervalMs);
    send();
    return first.promise;
  }

  private apply(entries: readonly Revocation[]): void {
    if (entries.length === 0) return;
    const now = this.now();
    for (const { kind, id } of entries) {
      if (endsTokens.has(kind)) remember(this.ended, revocationKey(kind, id), now);
    }
    for (const listener of this.listeners) listener.revoked(entries);
  }

  private becomeFresh(sentAt: number): void {
    // After a silence nothing that was kept is used again, whatever the log says.
    if (sentAt - this.freshAt > freshForMs) this.forget();
    this.freshAt = sentAt;
    if (!this.wasFresh) this.logger.info({ position: this.head }, 'following the revocation log');
    this.wasFresh = true;
  }

  private noteStaleness(error: unknown): void {
    if (this.isFresh || !this.wasFresh) return;
    this.wasFresh = false;
    this.logger.warn({ err: error }, 'the revocation log cannot be followed: requests with credentials are refused');
  }

  private forget(): void {
    for (const listener of this.listeners) listener.forget();
  }

  private async pause(): Promise<void> {
    if (this.stopped || (this.nudged && !this.isFailing)) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, pullIntervalMs);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.wake = undefined;
  }
}

/** Reading from 0 begins at whatever is retained; after that each entry follows the one before. */
function isBroken(after: number, head: number, entries: readonly Revocation[]): boolean {
  if (after === 0) return false;
  if (head < after) return true;
  return entries.length === 0 ? head > after : entries[0]?.position !== after + 1;
}

function remember(revoked: Map<string, number>, key: string, now: number): void {
  revoked.set(key, now);
  // In order of insertion, so the oldest come first.
  for (const [oldest, since] of revoked) {
    if (now - since <= rememberForMs) break;
    revoked.delete(oldest);
  }
}
