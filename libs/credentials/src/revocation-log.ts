import { broadcasts } from '@plant-shop/contracts/broker';
import { identity, type ReadRevocations, type Revocation, type Revocations } from '@plant-shop/contracts/identity';
import { theService, unavailable } from '@plant-shop/platform/errors';
import type { Logger } from '@plant-shop/platform/logging';
import type { RpcClient } from '@plant-shop/platform/rpc/client';
import { Deadline, RpcContext } from '@plant-shop/platform/rpc/context';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { gauge } from '@plant-shop/platform/service/metrics';
import type { Service } from '@plant-shop/platform/service/service';

/** Reads the revocations after a position of identity's log; rejects without an answer within `limitMs`. */
export type PullRevocations = (position: ReadRevocations, limitMs: number) => Promise<Revocations>;

/**
 * Why cached answers count no longer:
 * - `stale`: the log could not be read for more than a second. No entry was missed; those made meanwhile were passed to `revoked`.
 * - `broken`: the history is not the one that was followed. Entries may have been missed.
 */
export type ForgetReason = 'stale' | 'broken';

/** Implemented by holders of answers that a revocation invalidates. */
export interface RevocationListener {
  /** Called with new entries in the log's order; among them may be `userChanged`, which revokes nothing. */
  revoked(entries: readonly Revocation[]): void;
  /** Discards all cached answers. */
  forget(reason: ForgetReason): void;
}

/** Returns the key of a log entry. */
export const revocationKey = (kind: Revocation['kind'], id: string): string => `${kind}:${id}`;

/** The kinds of entry that revoke access tokens. */
const tokenKinds: ReadonlySet<Revocation['kind']> = new Set(['accessToken', 'client', 'grant', 'clientSecret', 'signingKey']);

export const pullIntervalMs = 250;
/** Cached answers count only while the last complete view of the log is at most this old. */
export const freshForMs = 1_000;
/** Number of pulls that are sent, one per interval, before the first one times out. A round ends with the first answer. */
const pullsPerRound = freshForMs / pullIntervalMs;
/** Twice as long as access tokens live. */
const tokenMemoryMs = 2 * 3_600_000;
/** Number of revoked sessions, API keys and users remembered, and of clients, grants, secrets and keys, at about 150 bytes each. */
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
 * Follows identity's numbered log of revocations, so that checked credentials can be cached and a revoked one is still
 * refused everywhere within a second.
 *
 * Runs one round of pulls at a time. The first answer of a round counts; later ones are ignored. Freshness counts from the
 * moment when the answered pull was sent, since the answer reflects that moment or a later one. The clock is monotonic, so a
 * process that was paused finds its log stale.
 *
 * Each answer also carries the time of identity's database, by which credentials expire: `identityTime`.
 */
export class RevocationLog extends BackgroundLoop {
  /** Position and id of the last entry that is known here. */
  private knownPosition = 0;
  private knownId: string | undefined;
  /** The running database of identity (`Revocations.epoch`), as named by its last answer that named one. */
  private epoch: string | undefined;
  private freshAt = -Infinity;
  /** The last reading of identity's clock, and this process's clock when it arrived. */
  private clockReading: { readonly time: number; readonly at: number } | undefined;
  private breaksFound = 0;
  /** Keys of revocations of access tokens, with the time when this process learned of each. */
  private readonly revokedTokens = new Map<string, number>();
  private readonly lastCredentials = new Set<string>();
  private readonly lastSources = new Set<string>();
  private readonly listeners: RevocationListener[] = [];
  private waiters: Waiter[] = [];
  private isPulling = false;
  private wasNotified = false;
  private wasFresh = false;
  private isFailing = false;

  constructor(
    private readonly pull: PullRevocations,
    logger: Logger,
    private readonly now: () => number = () => performance.now(),
  ) {
    super({ name: 'follow revocations', intervalMs: pullIntervalMs, isTraced: false }, () => this.pullRound(), logger);
  }

  /** The position up to which revocations are known here. */
  get position(): number {
    return this.knownPosition;
  }

  /** Number of breaks found in the history. An answer from before a break is not valid after it. */
  get generation(): number {
    return this.breaksFound;
  }

  get ageMs(): number {
    return this.now() - this.freshAt;
  }

  get isFresh(): boolean {
    return this.ageMs <= freshForMs;
  }

  /**
   * Returns the clock of identity's database, in milliseconds since 1970: the last reading, plus the time since it
   * arrived. It is never ahead, and behind by at most the answer's transit time, which is below a second while the log is
   * fresh. This process's wall clock is used before the first answer.
   */
  identityTime(): number {
    return this.clockReading ? this.clockReading.time + this.now() - this.clockReading.at : Date.now();
  }

  /**
   * Returns whether this process has seen a revocation: of access tokens, which are verified here and not by identity, until they
   * have expired; of what identity checks, the last 10,000 sessions, API keys and users, and the last 10,000 of what it issues
   * tokens for. A break does not clear them: the restored database may lack the revocation.
   */
  isRevoked(key: string): boolean {
    return this.revokedTokens.has(key) || this.lastCredentials.has(key) || this.lastSources.has(key);
  }

  addListener(listener: RevocationListener): void {
    this.listeners.push(listener);
  }

  override async stop(): Promise<void> {
    await super.stop();
    this.answerWaiters(this.waiters, stopping());
  }

  /** Pulls at once, because the log may have grown. */
  pullNow(): void {
    this.wasNotified = true;
    // While pulls fail, only the timer triggers them: `waitUntilFresh` would otherwise pull without a pause.
    if (!this.isPulling && !this.isFailing) this.notify();
  }

  /**
   * Resolves when every revocation before this call is known here, after a pull that is sent after the call. Rejects when
   * that pull fails or the log is stopped.
   */
  catchUp(): Promise<void> {
    if (this.stopped) return Promise.reject(stopping());
    return new Promise((resolve, reject) => {
      this.waiters.push({ resolve, reject });
      this.pullNow();
    });
  }

  /**
   * Resolves when the log is fresh, so that cached answers count.
   * @throws CodedError `unavailable` when the log cannot be followed
   */
  async ensureFresh(): Promise<void> {
    if (this.isFresh) return;
    // Stale but not failing (paused, just started, or a pull is unanswered): wait for a pull.
    if (this.isFailing) throw unavailable(theService('identity'));
    try {
      await this.catchUp();
    } catch (error) {
      throw unavailable(theService('identity'), error);
    }
  }

  /**
   * Resolves when the log is fresh, or after the limit.
   * @param limitMs a pull under way at the limit is still awaited
   */
  async waitUntilFresh(limitMs: number): Promise<void> {
    const until = this.now() + limitMs;
    // Failures are logged elsewhere, and the next pull may succeed.
    while (!this.isFresh && !this.stopped && this.now() < until) await this.catchUp().catch(() => undefined);
  }

  /** @returns whether to pull again at once: after a message during the pull, whose answer may be older, unless it failed */
  private async pullRound(): Promise<boolean> {
    this.isPulling = true;
    this.wasNotified = false;
    const waiting = this.waiters;
    this.waiters = [];
    try {
      await this.pullToHead();
      this.isFailing = false;
      this.answerWaiters(waiting);
      return this.wasNotified;
    } catch (error) {
      this.isFailing = true;
      this.reportStale(error);
      this.answerWaiters(waiting, error);
      return false;
    } finally {
      this.isPulling = false;
    }
  }

  private answerWaiters(waiting: readonly Waiter[], error?: unknown): void {
    for (const { resolve, reject } of waiting) {
      if (error === undefined) resolve();
      else reject(error);
    }
  }

  private async pullToHead(): Promise<void> {
    let position = positionAt(this.knownPosition, this.knownId);
    for (;;) {
      const { sentAt, receivedAt, revocations } = await this.firstAnswer(position);
      if (this.stopped) throw stopping();
      const { head, entries, lastId, time } = revocations;
      this.clockReading = { time, at: receivedAt };
      const broken = isBroken(position, revocations);
      if (this.hasOtherEpoch(revocations) || broken) {
        this.breaksFound++;
        this.forget('broken');
        const { matches, epoch } = revocations;
        this.logger.warn({ after: position.after, head, matches, epoch, broken }, "identity's database was restored, failed over or restarted");
        // Another database with the last known entry has the same log up to it; without its id that is not certain.
        if (broken || (position.after > 0 && position.afterId === undefined)) {
          position = positionAt(0);
          continue;
        }
      }
      this.apply(entries);
      this.knownPosition = entries.at(-1)?.position ?? head;
      this.knownId = lastId;
      position = positionAt(this.knownPosition, lastId);
      if (this.knownPosition < head) continue;
      this.markFresh(sentAt);
      return;
    }
  }

  /**
   * Sends a pull, and one more each interval until one is answered: a pull whose replica died is never answered, and another
   * replica may answer the next. Earlier pulls stay pending, so when every pull is slow, the first is answered first.
   * Rejects when all have failed: a second after the first was sent, or at once without responders.
   */
  private firstAnswer(position: ReadRevocations): Promise<AnsweredPull> {
    const first = Promise.withResolvers<AnsweredPull>();
    const startedAt = this.now();
    let sent = 0;
    let pending = 0;
    const send = (): void => {
      const sentAt = this.now();
      pending++;
      if (++sent === pullsPerRound) clearInterval(timer);
      // After a pause of a second or more the round's limit has passed already: the pull gets a second of its own.
      const leftMs = startedAt + freshForMs - sentAt;
      const limitMs = leftMs > 0 ? Math.max(leftMs, pullIntervalMs) : freshForMs;
      this.pull(position, limitMs).then(
        (revocations) => {
          clearInterval(timer);
          first.resolve({ sentAt, receivedAt: this.now(), revocations });
        },
        (error: unknown) => {
          if (--pending > 0) return;
          clearInterval(timer);
          first.reject(error);
        },
      );
    };
    const timer = setInterval(send, pullIntervalMs);
    send();
    return first.promise;
  }

  private hasOtherEpoch({ epoch }: Revocations): boolean {
    if (epoch === this.epoch) return false;
    const isFirst = this.epoch === undefined;
    this.epoch = epoch;
    return !isFirst;
  }

  private apply(entries: readonly Revocation[]): void {
    if (entries.length === 0) return;
    const now = this.now();
    for (const { kind, id } of entries) {
      if (tokenKinds.has(kind)) rememberToken(this.revokedTokens, revocationKey(kind, id), now);
      if (kind !== 'accessToken' && kind !== 'userChanged') rememberLast(tokenKinds.has(kind) ? this.lastSources : this.lastCredentials, revocationKey(kind, id));
    }
    for (const listener of this.listeners) listener.revoked(entries);
  }

  private markFresh(sentAt: number): void {
    // After more than a second without an answer, no cached answer is used again, whatever the log contains.
    if (sentAt - this.freshAt > freshForMs) this.forget('stale');
    this.freshAt = sentAt;
    if (!this.wasFresh) this.logger.info({ position: this.knownPosition }, 'following the revocation log');
    this.wasFresh = true;
  }

  private reportStale(error: unknown): void {
    if (this.isFresh || !this.wasFresh) return;
    this.wasFresh = false;
    this.logger.warn({ err: error }, 'the revocation log cannot be followed: requests with credentials are refused');
  }

  private forget(reason: ForgetReason): void {
    for (const listener of this.listeners) listener.forget(reason);
  }
}

const stopping = (): Error => new Error('stopping');

const positionAt = (after: number, afterId?: string): ReadRevocations => (afterId === undefined ? { after } : { after, afterId });

/** Whether the answer is not a continuation of the position. Reading from 0 begins where identity lets a new follower begin, and cannot break. */
function isBroken({ after }: ReadRevocations, { head, entries, matches }: Revocations): boolean {
  if (after === 0) return false;
  if (!matches || head < after) return true;
  return entries.length === 0 ? head > after : entries[0]?.position !== after + 1;
}

/** Evicts the least recently revoked. */
function rememberLast(revoked: Set<string>, key: string): void {
  revoked.delete(key);
  revoked.add(key);
  if (revoked.size <= maxRemembered) return;
  for (const oldest of revoked) {
    revoked.delete(oldest);
    break;
  }
}

function rememberToken(revoked: Map<string, number>, key: string, now: number): void {
  revoked.delete(key);
  revoked.set(key, now);
  // Maps iterate in insertion order, so the oldest come first.
  for (const [oldest, since] of revoked) {
    if (now - since <= tokenMemoryMs) break;
    revoked.delete(oldest);
  }
}

/** Returns identity's revocation log, pulled by RPC. */
export const revocationLogOf = (rpc: RpcClient, logger: Logger): RevocationLog =>
  new RevocationLog(
    (position, limitMs) => rpc.call(identity.readRevocations, position, new RpcContext('revocations', Deadline.in(limitMs))),
    logger,
  );

/**
 * How long a new process waits for the log before it reports ready. Until it has read the log it can only refuse requests with
 * credentials. If identity is down, it becomes ready anyway, for requests without.
 */
const firstReadLimitMs = 3_000;

/**
 * Connects the log, a provider of the service's app, to the service: messages, its age as a metric, and readiness. The service becomes
 * ready once it has read the log, or after 3 s.
 */
export function followRevocations(service: Service, log: RevocationLog): void {
  const messages = service.nats.listen(broadcasts.revocations.subject, () => log.pullNow());
  gauge(service.metrics, 'revocation_log_age_seconds', 'Age of the last complete view of the revocation log', () =>
    Math.min(log.ageMs / 1_000, Number.MAX_SAFE_INTEGER),
  );
  let hasWaited = false;
  void log.waitUntilFresh(firstReadLimitMs).then(() => (hasWaited = true));
  service.readiness.require('revocations', () => {
    if (!hasWaited) throw new Error('revocation log not read yet');
  });
  service.onClose({ name: 'stop hearing of revocations', limitMs: 100, run: () => messages.stop() });
}
