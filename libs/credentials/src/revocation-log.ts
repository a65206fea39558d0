import type { ReadRevocations, Revocation, Revocations } from '@plant-shop/contracts/identity';
import { unavailable } from '@plant-shop/platform/errors';
import type { Logger } from '@plant-shop/platform/logging';

/** Asks identity for what was revoked after a place in its log, and waits for its answer no longer than this. */
export type PullRevocations = (place: ReadRevocations, limitMs: number) => Promise<Revocations>;

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
const tokenMemoryMs = 48 * 3_600_000;
/** Revoked sessions, API keys and users that are remembered, at about 150 bytes each. */
const maxRemembered = 10_000;

interface AnsweredPull {
  readonly sentAt: number;
  readonly receivedAt: number;
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
 *
 * Each answer also carries the time of identity's database, by which credentials expire: `identityTime`.
 */
export class RevocationLog {
  private head = 0;
  private headId: string | undefined;
  private freshAt = -Infinity;
  /** What identity's clock showed when an answer came, and this process's clock at that moment. */
  private reading: { readonly time: number; readonly at: number } | undefined;
  private breaks = 0;
  private readonly endedTokens = new Map<string, number>();
  private readonly endedCredentials = new Set<string>();
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

  /**
   * The clock of identity's database, in milliseconds since the epoch: what the last answer said, plus what passed since it came. It
   * is never ahead, and behind by no more than the answer's way, which is below a second while the log is fresh. This process's wall
   * clock counts only until the first answer, and beside an identity of the release before, which does not tell the time.
   */
  identityTime(): number {
    return this.reading ? this.reading.time + this.now() - this.reading.at : Date.now();
  }

  /**
   * Whether this follower has seen the entry of something that is revoked for ever: of what ends access tokens (they are checked here
   * and not at identity) all of 48 hours, of sessions, API keys and users the last 10,000. A break does not change it: the restored
   * database may have lost the entry, and then identity takes the credential for a live one.
   */
  isRevoked(key: string): boolean {
    return this.endedTokens.has(key) || this.endedCredentials.has(key);
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
  async ensureFresh(): Promise<void> {
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
  async waitUntilFresh(limitMs: number): Promise<void> {
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
    let place = placeAt(this.head, this.headId);
    for (;;) {
      const { sentAt, receivedAt, revocations } = await this.firstAnswer(place);
      if (this.stopped) return;
      const { head, entries, lastId, time } = revocations;
      if (time !== undefined) this.reading = { time, at: receivedAt };
      if (isBroken(place, revocations)) {
        this.breaks++;
        this.forget();
        this.logger.warn({ after: place.after, head, matches: revocations.matches }, 'the revocation log is another one, reading it anew');
        place = placeAt(0);
        continue;
      }
      this.apply(entries);
      this.head = entries.at(-1)?.position ?? head;
      this.headId = lastId;
      place = placeAt(this.head, lastId);
      if (this.head < head) continue;
      this.markFresh(sentAt);
      return;
    }
  }

  /**
   * A pull whose frame went down with a replica is never answered, and as long as nobody can say, there is another one each interval
   * for another replica to answer. None takes an earlier one's place: where every pull is slow, the first is answered first.
   * Rejects when all have failed: a second after the first, or at once when nobody is there.
   */
  private firstAnswer(place: ReadRevocations): Promise<AnsweredPull> {
    const first = Promise.withResolvers<AnsweredPull>();
    const begun = this.now();
    let sent = 0;
    let underWay = 0;
    const send = (): void => {
      const sentAt = this.now();
      underWay++;
      if (++sent === pullsPerRound) clearInterval(timer);
      // A process that was paused for all of the second sends one more, and gives it this long.
      const limitMs = Math.max(begun + freshForMs - sentAt, pullIntervalMs);
      this.pull(place, limitMs).then(
        (revocations) => {
          clearInterval(timer);
          first.resolve({ sentAt, receivedAt: this.now(), revocations });
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
      if (endsTokens.has(kind)) rememberToken(this.endedTokens, revocationKey(kind, id), now);
      else if (kind !== 'userChanged') rememberCredential(this.endedCredentials, revocationKey(kind, id));
    }
    for (const listener of this.listeners) listener.revoked(entries);
  }

  private markFresh(sentAt: number): void {
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

const placeAt = (after: number, afterId?: string): ReadRevocations => (afterId === undefined ? { after } : { after, afterId });

/** Reading from 0 begins at whatever is retained; after that each entry follows the one before, in the same log. */
function isBroken({ after }: ReadRevocations, { head, entries, matches }: Revocations): boolean {
  if (after === 0) return false;
  if (matches === false || head < after) return true;
  return entries.length === 0 ? head > after : entries[0]?.position !== after + 1;
}

/** The least recently revoked goes first. */
function rememberCredential(revoked: Set<string>, key: string): void {
  revoked.delete(key);
  revoked.add(key);
  if (revoked.size <= maxRemembered) return;
  for (const oldest of revoked) {
    revoked.delete(oldest);
    break;
  }
}

function rememberToken(revoked: Map<string, number>, key: string, now: number): void {
  revoked.set(key, now);
  // In order of insertion, so the oldest come first.
  for (const [oldest, since] of revoked) {
    if (now - since <= tokenMemoryMs) break;
    revoked.delete(oldest);
  }
}
