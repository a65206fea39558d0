import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { DeliveryAttempt } from '@plant-shop/contracts/notifications';
import { RevocationLog } from '@plant-shop/credentials/revocation-log';
import { Cipher } from '@plant-shop/platform/cipher';
import { isTransient } from '@plant-shop/platform/errors';
import { Batcher } from '@plant-shop/platform/patterns/batcher';
import type { Logger } from '@plant-shop/platform/logging';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { tracing } from '@plant-shop/platform/telemetry/tracing';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../../options.js';
import type { WebhooksOptions } from '../../options.js';
import { OwnerSync } from '../endpoints/owner-sync.js';
import { disableWebhook } from '../endpoints/webhooks.repository.js';
import { DeliveryMetrics } from '../queue/delivery-metrics.js';
import { FairQueue } from '../queue/fair-queue.js';
import { afterResults, burstOf, HostRates, type HostState, lockHosts, saveHosts } from '../queue/host-rates.js';
import { QueueClock } from '../queue/queue-clock.js';
import { bringForward, claimDue, type ClaimedDelivery, endTurns, findFailing, giveBack, type Health, noteHealth, type Outcome, recordOutcomes, takeTurns } from '../queue/queue.repository.js';
import { pauseAfter, pauseBeforeNextTurn, roomOf, type Turn } from '../queue/turn.js';
import { beginDelivery, endAttempt } from './delivery-spans.js';
import { Leases } from './leases.js';
import { type Sending, type SendResult, signedHeaders, WebhookSender } from './webhook-sender.js';

/** Maximum number of endpoints in a claim. */
const maxTurns = 64;
const maxOutcomes = 500;
/** Pause between two tries to record outcomes while the database is down. */
const recordRetryMs = 250;
/** Part of the limit of an attempt within which a response is prompt: 5 s. */
const prompt = 1 / 3;
/** How long a stopping service waits for attempts in progress, so that the rest of the shutdown still fits its limit. */
const finishMs = 1_500;

/** What an attempt needs to know of its endpoint. */
interface Target extends Pick<Turn, 'webhookId' | 'ownerId' | 'url' | 'host' | 'oldestSecret'> {
  readonly address: URL;
  readonly secrets: readonly string[];
}

/** A claimed delivery with what is needed to send it. */
interface Job extends Target {
  readonly claimed: ClaimedDelivery;
  readonly lease: string;
  /** When the claim began, by `performance.now`. */
  readonly claimedAt: number;
  /** Its attempt while it lasts. */
  sending?: Sending | undefined;
}

type CountedHost = HostState & { readonly isNewCount: boolean };

interface AttemptRecord {
  readonly job: Job;
  readonly sent: SendResult;
  readonly outcome: Outcome;
}

/** A claim without an attempt that counts. */
interface Unattempted {
  readonly job: Job;
  /** Undefined if the claim is released: the delivery is due again at once. */
  readonly outcome?: Outcome;
}

/** Claims deliveries, sends them and records the outcomes. Any number of replicas share the work. */
@Injectable()
export class DeliveryWorker implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly options: WebhooksOptions;
  private readonly loop: BackgroundLoop;
  private readonly leases: Leases<Job>;
  private readonly results: Batcher<AttemptRecord, boolean>;
  private readonly unattempted: Batcher<Unattempted, void>;
  private readonly queue: FairQueue<Job>;
  private readonly hosts = new HostRates();
  private readonly time: AgreedTime;
  private readonly underWay = new Set<Job>();
  /** Deliveries whose outcomes are not recorded. */
  private readonly inProgress = new Set<Promise<void>>();
  private isStopping = false;
  private onIdle: (() => void) | undefined;

  constructor(
    private readonly database: Database,
    private readonly clock: QueueClock,
    private readonly sender: WebhookSender,
    private readonly cipher: Cipher,
    private readonly metrics: DeliveryMetrics,
    private readonly revocations: RevocationLog,
    private readonly owners: OwnerSync,
    @Inject(NOTIFICATIONS_OPTIONS) { webhooks }: NotificationsOptions,
    @InjectLogger() private readonly logger: Logger,
  ) {
    this.options = webhooks;
    this.time = new AgreedTime(() => revocations.identityTime());
    this.loop = new BackgroundLoop({ name: 'send webhooks', intervalMs: webhooks.pollMs }, () => this.claimAndSend(), logger);
    this.leases = new Leases(clock, webhooks.leaseMs, { giveBack: (job) => this.giveBack(job), cut: (job) => job.sending?.cut() }, logger);
    this.queue = new FairQueue(webhooks.inFlight);
    this.results = new Batcher<AttemptRecord, boolean>({ name: 'record webhook outcomes', lanes: 1, maxBatch: maxOutcomes, onBatch: (count) => metrics.recorded(count) }, (batch) => this.record(batch));
    this.unattempted = new Batcher<Unattempted, void>({ name: 'end claims without an attempt', lanes: 1, maxBatch: maxOutcomes }, (batch) => this.endAll(batch));
    metrics.watchInFlight(() => this.underWay.size);
  }

  onApplicationBootstrap(): void {
    this.loop.start();
    this.leases.start();
  }

  /** Stops claiming, lets attempts in progress finish for a while, and releases the others to other workers. */
  async onApplicationShutdown(): Promise<void> {
    this.isStopping = true;
    await this.loop.stop();
    this.giveBackWaiting();
    await this.idleOr(finishMs);
    for (const job of this.underWay) job.sending?.cut();
    await this.sender.close();
    await Promise.all(this.inProgress);
    await this.leases.stop();
  }

  /** Whether nothing is being sent, and all outcomes are recorded or given up. */
  get isIdle(): boolean {
    return this.inProgress.size === 0;
  }

  /** Looks for due deliveries now. */
  notify(): void {
    this.loop.notify();
  }

  /**
   * Claims deliveries for free slots (`FairQueue`), and begins their attempts. Claims nothing while identity's revocations cannot be
   * followed, and nothing for owners that have to be checked first. Returns true if there may be more to do at once, when to look
   * again in milliseconds, or false: at the next notification or interval.
   */
  async claimAndSend(): Promise<boolean | number> {
    if (this.isStopping || !this.owners.isReady || !this.queue.hasFreeSlots) return false;
    if (!this.revocations.isFresh) {
      // Owners may have lost their permissions. Another replica may be able to follow the revocations.
      this.giveBackWaiting();
      return false;
    }
    const { jobs, waitMs } = await this.claim();
    this.queue.add(jobs);
    this.pump();
    return jobs.length > 0 || Math.min(waitMs, this.options.pollMs);
  }

  /** @returns jobs, and the shortest time that an endpoint has to wait for its host; Infinity if none does */
  private async claim(): Promise<{ jobs: Job[]; waitMs: number }> {
    const { limits, leaseMs } = this.options;
    const claimedAt = performance.now();
    const lease = randomUUID();
    const { owners, endpoints } = this.queue.full();
    const { turns, claimed } = await this.clock.transaction(async (tx) => {
      const due = await takeTurns(tx, maxTurns, limits, { owners: [...owners, ...this.owners.unchecked], endpoints });
      // How much may be claimed: what the endpoint's own rate and window leave (`roomOf`), of that what its host may get (`allot`), and of that its
      // owner's part of the free slots (`sharesOf`).
      const asked = due.map((turn) => ({ ...turn, room: roomOf(turn, limits) }));
      const hosts = await this.lockHosts(tx, asked);
      const allowed = this.hosts.allot(asked.filter(({ room }) => room > 0), hosts);
      const requests = asked.map((turn) => ({ ...turn, ...(allowed.get(turn.webhookId) ?? { waitMs: undefined }) }));
      const shares = this.queue.sharesOf(requests);
      // An endpoint without a slot keeps its turn, and is its owner's first when there is room again.
      const turns = requests.flatMap((turn, n) => {
        const share = shares[n] ?? 0;
        return share === 0 && turn.room > 0 ? [] : [{ turn, share }];
      });
      if (turns.length === 0) {
        this.saveHosts(tx, [], hosts);
        return { turns, claimed: [] };
      }
      const claimed = await claimDue(tx, turns.map(({ turn, share }) => ({ webhookId: turn.webhookId, room: share })), lease, leaseMs);
      if (claimed.length > 0) tracing?.causedBy(claimed.map((one) => one.traceparent));
      const took = countByWebhook(claimed);
      endTurns(
        tx,
        turns.map(({ turn, share }) => {
          const count = took.get(turn.webhookId) ?? 0;
          return { turn, tokens: turn.tokens - count, pauseMs: pauseBeforeNextTurn(turn, turn.room, share, count, limits, turn.waitMs) };
        }),
      );
      this.saveHosts(tx, turns.map(({ turn }) => ({ ...turn, count: took.get(turn.webhookId) ?? 0 })), hosts);
      return { turns, claimed };
    }, { useGenericPlans: true });
    const targets = this.targetsOf(turns.map(({ turn }) => turn));
    const jobs = claimed.flatMap((one) => {
      const target = targets.get(one.webhookId);
      return target ? [{ claimed: one, lease, claimedAt, ...target }] : [];
    });
    this.leases.add(jobs, claimedAt);
    return { jobs, waitMs: Math.min(...turns.map(({ turn }) => turn.waitMs ?? Infinity)) };
  }

  /** Locks the hosts of endpoints that may send something, and takes the results of this replica's attempts into account. */
  private async lockHosts(tx: Transaction, turns: readonly (Turn & { readonly room: number })[]): Promise<Map<string, CountedHost>> {
    const names = [...new Set(turns.filter(({ room }) => room > 0).map(({ host }) => host))];
    const { ratePerHost } = this.options;
    const states = names.length === 0 ? [] : await lockHosts(tx, names, ratePerHost);
    return new Map(
      states.map((state) => {
        const after = afterResults(state, this.hosts.takeResults(state.host), ratePerHost);
        return [state.host, { ...after, tokens: Math.min(state.tokens, burstOf(after.rate)) }];
      }),
    );
  }

  private saveHosts(tx: Transaction, turns: readonly (Turn & { readonly count: number })[], hosts: ReadonlyMap<string, CountedHost>): void {
    const counts = new Map<string, number>();
    for (const turn of turns) {
      if (turn.count === 0) continue;
      counts.set(turn.host, (counts.get(turn.host) ?? 0) + turn.count);
      this.hosts.noteServed(turn, turn.count);
    }
    if (hosts.size > 0) saveHosts(tx, [...hosts.values()].map((state) => ({ ...state, tokens: state.tokens - (counts.get(state.host) ?? 0) })));
  }

  /** Leaves out endpoints whose secrets cannot be decrypted: their deliveries wait until the lease ends. */
  private targetsOf(turns: readonly Turn[]): Map<string, Target> {
    const targets = new Map<string, Target>();
    for (const { webhookId, ownerId, url, host, secrets, oldestSecret } of turns) {
      try {
        const decrypted = secrets.map((bytes) => this.cipher.decrypt(bytes, webhookId));
        if (decrypted.length > 0) targets.set(webhookId, { webhookId, ownerId, url, address: new URL(url), host, oldestSecret, secrets: decrypted });
      } catch (error) {
        this.logger.error({ err: error, webhook: webhookId }, 'the secrets of a webhook cannot be decrypted');
      }
    }
    return targets;
  }

  private pump(): void {
    for (let job; !this.isStopping && (job = this.queue.next()); ) this.begin(job);
  }

  private begin(job: Job): void {
    const span = tracing && beginDelivery(tracing, job.claimed);
    const done = span ? span.run(() => this.deliver(job)).finally(() => span.end()) : this.deliver(job);
    this.track(done);
  }

  private track(done: Promise<void>): void {
    this.inProgress.add(done);
    void done.finally(() => this.inProgress.delete(done));
  }

  private async deliver(job: Job): Promise<void> {
    if (!job.claimed.isWanted || !this.maySend(job)) {
      this.queue.end(job);
      await this.end(job.claimed.isWanted ? { job } : { job, outcome: unwanted(job.claimed, job.lease, this.time.now()) });
      return;
    }
    this.underWay.add(job);
    const sent = await this.attempt(job);
    this.underWay.delete(job);
    this.queue.end(job, sent.isCut ? undefined : isQuick(sent, this.options.attemptLimitMs * prompt));
    this.pump();
    if (this.queue.wantsMore(job)) this.loop.notify();
    if (this.underWay.size === 0) this.onIdle?.();
    await (sent.isCut ? this.end({ job }) : this.conclude(job, sent));
  }

  /** Whether the event may be sent now: its owner's permissions are known, and no other worker can have claimed the delivery. */
  private maySend(job: Job): boolean {
    return this.revocations.isFresh && this.owners.isUnchangedSince(job.ownerId, job.claimedAt) && this.leases.isValid(job);
  }

  /** Sends no `traceparent`: receivers are third parties, and one trace may cover orders of many customers. */
  private async attempt(job: Job): Promise<SendResult> {
    const { claimed, address, secrets } = job;
    const span = tracing?.begin({ name: 'POST', kind: 'client', attributes: { 'http.request.method': 'POST' } });
    const at = this.time.now();
    const headers = signedHeaders(claimed.eventId, at, claimed.body, secrets);
    job.sending = this.sender.send({ url: address, at, headers, body: claimed.body, mayBegin: () => this.maySend(job) });
    const sent = await job.sending.result;
    // It holds what was sent, which the garbage collector would copy until the outcome is recorded: 5 µs a delivery.
    job.sending = undefined;
    if (span) endAttempt(span, sent);
    return sent;
  }

  private async conclude(job: Job, sent: SendResult): Promise<void> {
    const outcome = outcomeOf(job.claimed, job.lease, sent, this.options.timeScale, Math.random());
    this.metrics.attempted(sent);
    this.hosts.note(job.host, sent);
    try {
      if (await this.results.submit(0, { job, sent, outcome })) this.metrics.ended(outcome.state);
    } catch (error) {
      // When its lease ends, the delivery is sent once more.
      this.logger.warn({ err: error, delivery: job.claimed.id }, 'recording the outcome of a delivery failed');
    } finally {
      this.leases.delete(job);
    }
  }

  /** Gives back a claim that has not begun: it was made for a slot that should have been free by now. */
  private giveBack(job: Job): boolean {
    if (!this.queue.remove(job)) return false;
    this.track(this.end({ job }));
    return true;
  }

  private giveBackWaiting(): void {
    for (const job of this.queue.takeWaiting()) this.track(this.end({ job }));
  }

  private async end(claim: Unattempted): Promise<void> {
    const { job, outcome } = claim;
    this.leases.delete(job);
    try {
      await this.unattempted.submit(0, claim);
      if (outcome) this.metrics.ended(outcome.state);
    } catch (error) {
      // Its lease ends anyway.
      this.logger.warn({ err: error, delivery: job.claimed.id }, 'ending the claim of a delivery failed');
    }
  }

  /** Runs a transaction, and retries until the database is back or this worker stops. */
  private async retried<T>(what: string, transaction: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await transaction();
      } catch (error) {
        if (this.isStopping || !isTransient(error)) throw error;
        this.logger.warn({ err: error }, `${what} failed, trying again`);
        await pause(recordRetryMs);
      }
    }
  }

  /**
   * Records outcomes, whose deliveries would otherwise be sent once more. An outcome that is recorded too late changes nothing,
   * because another worker holds the lease.
   */
  private async record(batch: readonly AttemptRecord[]): Promise<boolean[]> {
    const { limits, failingMs, attemptLimitMs } = this.options;
    const exhausted = [...new Set(batch.flatMap(({ outcome }) => (outcome.state === 'failed' ? [outcome.delivery.webhookId] : [])))];
    const attempts = batch.map(({ job, sent }) => ({ webhookId: job.webhookId, sent }));
    const health = healthOf(attempts, attemptLimitMs * prompt);
    const { written, failing } = await this.retried('recording outcomes of deliveries', () =>
      this.clock.transaction(async (tx) => {
        const written = recordOutcomes(tx, batch.map(({ outcome }) => outcome));
        noteHealth(tx, health, limits);
        return { written, failing: exhausted.length === 0 ? [] : await findFailing(tx, exhausted, failingMs) };
      }, { useGenericPlans: true }),
    );
    const ids = written();
    const gone = new Map(batch.flatMap(({ job, sent }) => (isGone(sent) ? [[job.webhookId, job.url] as const] : [])));
    for (const [id, url] of gone) await this.disable(id, 'gone', url);
    for (const id of failing) await this.disable(id, 'failing');
    this.loop.notify();
    return batch.map(({ job }) => ids.has(job.claimed.id));
  }

  /**
   * Runs in a separate transaction, because endpoints' rows are locked before all others. If it is lost, the next failure repeats it.
   * Throws nothing: the outcomes are recorded.
   * @param url disables the webhook only if it still has this URL
   */
  private async disable(id: string, reason: 'gone' | 'failing', url?: string): Promise<void> {
    try {
      if (await this.retried('disabling a webhook', () => this.database.transaction((tx) => disableWebhook(tx, id, reason, url)))) {
        this.logger.info({ webhook: id, reason }, 'webhook disabled');
      }
    } catch (error) {
      this.logger.warn({ err: error, webhook: id, reason }, 'disabling a webhook failed');
    }
  }

  private async endAll(batch: readonly Unattempted[]): Promise<undefined[]> {
    const outcomes = batch.flatMap(({ outcome }) => (outcome ? [outcome] : []));
    const released = batch.flatMap(({ job, outcome }) => (outcome ? [] : [{ id: job.claimed.id, lease: job.lease }]));
    await this.clock.transaction(async (tx) => {
      recordOutcomes(tx, outcomes);
      giveBack(tx, released);
      await bringForward(tx, [...new Set(batch.map(({ job }) => job.webhookId))]);
    });
    this.loop.notify();
    return batch.map(() => undefined);
  }

  private async idleOr(limitMs: number): Promise<void> {
    if (this.underWay.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, limitMs);
      this.onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

function countByWebhook(claimed: readonly ClaimedDelivery[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { webhookId } of claimed) counts.set(webhookId, (counts.get(webhookId) ?? 0) + 1);
  return counts;
}

/** The receiver wants no more deliveries. */
const goneStatus = 410;
/** With these statuses, Retry-After concerns the receiver and not one event. */
const busyStatuses = [429, 503];
/** Maximum pause of an endpoint that its receiver may ask for: all its events wait meanwhile. */
const maxPauseMs = 3_600_000;

const isDelivered = ({ status }: SendResult): boolean => status !== undefined && status >= 200 && status < 300;
const isUnanswered = ({ status }: SendResult): boolean => status === undefined;
const isGone = ({ status }: Pick<SendResult, 'status'>): boolean => status === goneStatus;

const askedPauseMs = ({ status, retryAfterMs = 0 }: SendResult): number =>
  status !== undefined && busyStatuses.includes(status) ? retryAfterMs : 0;

/** @param random from 0 to 1 */
export function outcomeOf(delivery: ClaimedDelivery, lease: string, sent: SendResult, timeScale: number, random: number): Outcome {
  const base = { delivery, lease, attempt: toAttempt(sent), ...(sent.response && { response: sent.response }), ...(sent.excerpt && { excerpt: sent.excerpt }) };
  if (isDelivered(sent)) return { ...base, state: 'delivered', pauseMs: 0 };
  const pauseMs = pauseAfter(delivery.recordedAttempts + 1, timeScale, random);
  // After a 410 the endpoint is disabled, and the delivery is held like later ones.
  if (pauseMs === undefined) return { ...base, state: isGone(sent) ? 'pending' : 'failed', pauseMs: 0 };
  return { ...base, state: 'pending', pauseMs: Math.max(pauseMs, askedPauseMs(sent)) };
}

/** The outcome of a delivery that the endpoint's filters exclude by now: it fails without an attempt. */
const unwanted = (delivery: ClaimedDelivery, lease: string, at: Date): Outcome => ({
  ...{ delivery, lease, state: 'failed', pauseMs: 0 },
  attempt: { at: at.toISOString(), durationMs: 0, error: 'Not sent: the webhook no longer selects this event.' },
});

const toAttempt = ({ at, status, durationMs, error }: SendResult): DeliveryAttempt => ({
  at: at.toISOString(),
  ...(status !== undefined && { status }),
  durationMs,
  ...(error !== undefined && { error }),
});

/** Returns whether an attempt freed its slot soon, with any result. */
const isQuick = ({ durationMs, isUnfinished }: SendResult, promptMs: number): boolean => durationMs <= promptMs && !isUnfinished;

/**
 * Summarises a batch of attempts per endpoint.
 * @param promptMs a response that takes longer is not prompt
 */
export function healthOf(attempts: readonly { readonly webhookId: string; readonly sent: SendResult }[], promptMs: number): Health[] {
  const health = new Map<string, Health>();
  for (const { webhookId, sent } of attempts) {
    const before = health.get(webhookId);
    const wasPrompt = !isUnanswered(sent) && isQuick(sent, promptMs);
    health.set(webhookId, {
      webhookId,
      delivered: isDelivered(sent) || (before?.delivered ?? false),
      answered: !isUnanswered(sent) || (before?.answered ?? false),
      prompt: wasPrompt || (before?.prompt ?? false),
      silentAttempts: (before?.silentAttempts ?? 0) + (wasPrompt ? 0 : 1),
      pauseMs: Math.max(Math.min(askedPauseMs(sent), maxPauseMs), before?.pauseMs ?? 0),
      error: sent.error ?? before?.error,
    });
  }
  return [...health.values()];
}

/** Two clocks with a smaller difference are right. */
const agreementMs = 30_000;
/** For how long the time goes on without an agreement; then the monotonic clock may have drifted. */
const agreedForMs = 3_600_000;

/**
 * The time that attempts are signed with: receivers refuse one that is minutes off. The clock of this host or of identity's database may be set
 * wrong while this process runs, so the time goes on from when both last agreed. Without that it is identity's.
 */
export class AgreedTime {
  private agreed: { readonly time: number; readonly at: number } | undefined;

  constructor(
    private readonly identityTime: () => number,
    private readonly hostTime: () => number = () => Date.now(),
    private readonly monotonic: () => number = () => performance.now(),
  ) {}

  now(): Date {
    const time = this.identityTime();
    const at = this.monotonic();
    if (Math.abs(time - this.hostTime()) < agreementMs) this.agreed = { time, at };
    const { agreed } = this;
    return new Date(agreed && at - agreed.at < agreedForMs ? agreed.time + at - agreed.at : time);
  }
}
