import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { RevocationLog } from '@plant-shop/credentials/revocation-log';
import { Cipher } from '@plant-shop/platform/cipher';
import { isTransient } from '@plant-shop/platform/errors';
import { Batcher } from '@plant-shop/platform/batcher';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { tracing } from '@plant-shop/platform/telemetry/tracing';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../../options.js';
import type { WebhooksOptions } from '../../options.js';
import { OwnerSync } from '../endpoints/owner-sync.js';
import { findSecrets, type SecretRecord } from '../endpoints/secrets.repository.js';
import { disableWebhook } from '../endpoints/webhooks.repository.js';
import { DeliveryMetrics } from '../queue/delivery-metrics.js';
import { FairQueue } from '../queue/fair-queue.js';
import { pauseBeforeNextTurn, roomOf, type Turn } from '../queue/turn.js';
import {
  claimDue,
  type ClaimedDelivery,
  endTurns,
  findFailing,
  giveBack,
  noteHealth,
  type Outcome,
  recordOutcomes,
  takeTurns,
} from '../queue/queue.repository.js';
import { beginDelivery, endAttempt } from './delivery-spans.js';
import { Leases } from './leases.js';
import { healthOf, isGone, isQuick, outcomeOf } from './outcome.js';
import { signedHeaders } from './signature.js';
import { WebhookSender, type SendResult } from './webhook-sender.js';

/** Claimed deliveries that may wait, for each concurrent attempt, so that claims come in batches. */
const waitingPerAttempt = 2;
/** Maximum number of endpoints in a claim. */
const maxTurns = 64;
const maxOutcomes = 500;
/** Pause between two tries to record outcomes while the database is down. */
const recordRetryMs = 250;
/** Part of the limit of an attempt within which a response is prompt: 5 s. */
const prompt = 1 / 3;
/** How long a stopping service waits for attempts in progress, so that the rest of the shutdown still fits its limit. */
const finishMs = 1_500;

/** A claimed delivery with what is needed to send it. */
interface Job {
  readonly claimed: ClaimedDelivery;
  readonly lease: string;
  readonly ownerId: string;
  readonly webhookId: string;
  readonly url: URL;
  readonly secrets: readonly string[];
}

interface AttemptRecord {
  readonly job: Job;
  readonly sent: SendResult;
  readonly outcome: Outcome;
}

/** Claims deliveries, sends them and records the outcomes. Any number of replicas share the work. */
@Injectable()
export class DeliveryWorker implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly options: WebhooksOptions;
  private readonly loop: BackgroundLoop;
  private readonly leases: Leases<Job>;
  private readonly results: Batcher<AttemptRecord, boolean>;
  private readonly queue: FairQueue<Job>;
  private readonly underWay = new Set<Job>();
  /** Outcomes that are being recorded. */
  private readonly recording = new Set<Promise<void>>();
  private isStopping = false;
  /** Whether attempts in progress are being aborted. */
  private isCutting = false;
  private onIdle: (() => void) | undefined;

  constructor(
    private readonly database: Database,
    private readonly sender: WebhookSender,
    private readonly cipher: Cipher,
    private readonly metrics: DeliveryMetrics,
    private readonly revocations: RevocationLog,
    private readonly owners: OwnerSync,
    @Inject(NOTIFICATIONS_OPTIONS) { webhooks }: NotificationsOptions,
    @InjectLogger() private readonly logger: Logger,
  ) {
    this.options = webhooks;
    this.loop = new BackgroundLoop({ name: 'send webhooks', intervalMs: webhooks.pollMs }, () => this.claimAndSend(), logger);
    this.leases = new Leases(database, webhooks.leaseMs, logger);
    this.queue = new FairQueue(webhooks.inFlight, waitingPerAttempt);
    this.results = new Batcher<AttemptRecord, boolean>({ name: 'record webhook outcomes', lanes: 1, maxBatch: maxOutcomes, onBatch: (count) => metrics.recorded(count) }, (batch) => this.record(batch));
    metrics.watchInFlight(() => this.underWay.size);
  }

  onApplicationBootstrap(): void {
    this.loop.start();
    this.leases.start();
  }

  /** Stops claiming, lets attempts in progress finish for a while, and releases the other claims to other workers. */
  async onApplicationShutdown(): Promise<void> {
    this.isStopping = true;
    await this.loop.stop();
    await this.giveBack(this.queue.takeWaiting());
    await this.idleOr(finishMs);
    this.isCutting = true;
    await this.sender.close();
    await this.giveBack([...this.underWay]);
    await Promise.all(this.recording);
    await this.leases.stop();
  }

  /** Whether nothing is being sent, and all outcomes are recorded or given up. */
  get isIdle(): boolean {
    return this.underWay.size === 0 && this.recording.size === 0;
  }

  /** Looks for due deliveries now. */
  poke(): void {
    this.loop.poke();
  }

  /**
   * Claims deliveries for owners that are not full (`FairQueue.isFull`). Claims nothing before all owners were checked once. While
   * identity's revocations cannot be followed, claims nothing and releases claims that have not begun. Returns whether there may be
   * more to do at once.
   */
  async claimAndSend(): Promise<boolean> {
    if (this.isStopping || !this.owners.isReady) return false;
    if (!this.revocations.isFresh) {
      // Owners may have lost their permissions. Another replica may be able to follow the revocations.
      await this.giveBack(this.queue.takeWaiting());
      return false;
    }
    const jobs = await this.claim();
    this.queue.add(jobs);
    this.pump();
    return jobs.length > 0;
  }

  private async claim(): Promise<Job[]> {
    const { limits, leaseMs } = this.options;
    const begunAt = performance.now();
    const lease = randomUUID();
    const { turns, claimed, secrets } = await this.database.transaction(async (tx) => {
      const due = await takeTurns(tx, maxTurns, limits, this.queue.fullOwners());
      const shares = this.queue.sharesOf(due);
      // An endpoint without a share keeps its turn, and is its owner's first when there is room again.
      const turns = due.flatMap((turn, n) => {
        const share = shares[n] ?? 0;
        return share < 1 ? [] : [{ turn, webhookId: turn.webhookId, share, room: roomOf(turn, share, limits) }];
      });
      if (turns.length === 0) return { turns, claimed: [], secrets: [] };
      // In parallel, because enqueuers wait for these rows. Secrets of endpoints that get nothing are read in vain.
      const [claimed, secrets] = await Promise.all([
        claimDue(tx, turns, lease, leaseMs),
        findSecrets(tx, turns.map(({ webhookId }) => webhookId)),
      ]);
      if (claimed.length > 0) tracing?.causedBy(claimed.map((one) => one.traceparent));
      const took = countByWebhook(claimed);
      endTurns(
        tx,
        turns.map(({ turn, webhookId, share, room }) => {
          const count = took.get(webhookId) ?? 0;
          return { turn, tokens: turn.tokens - count, pauseMs: pauseBeforeNextTurn(turn, room, count, share, limits) };
        }),
      );
      return { turns, claimed, secrets };
    }, { useGenericPlans: true });
    const endpoints = this.endpointsOf(turns.map(({ turn }) => turn), secrets);
    const jobs = claimed.flatMap((one) => {
      const endpoint = endpoints.get(one.webhookId);
      return endpoint ? [{ claimed: one, lease, webhookId: one.webhookId, ...endpoint }] : [];
    });
    this.leases.add(jobs, begunAt);
    return jobs;
  }

  /** Leaves out endpoints whose secrets cannot be decrypted: their deliveries wait until the lease ends. */
  private endpointsOf(turns: readonly Turn[], secrets: readonly SecretRecord[]): Map<string, Pick<Job, 'ownerId' | 'url' | 'secrets'>> {
    const endpoints = new Map<string, Pick<Job, 'ownerId' | 'url' | 'secrets'>>();
    for (const { webhookId, ownerId, url } of turns) {
      try {
        const own = secrets.filter((one) => one.webhookId === webhookId).map((one) => this.cipher.decrypt(one.bytes, webhookId));
        if (own.length > 0) endpoints.set(webhookId, { ownerId, url: new URL(url), secrets: own });
      } catch (error) {
        this.logger.error({ err: error, webhook: webhookId }, 'the secrets of a webhook cannot be decrypted');
      }
    }
    return endpoints;
  }

  private pump(): void {
    while (!this.isStopping && this.revocations.isFresh) {
      const job = this.queue.next();
      if (!job) break;
      if (this.leases.isValid(job)) this.begin(job);
      else this.drop(job);
    }
  }

  /** Drops a job whose lease was not renewed in time: another worker may have claimed it. */
  private drop(job: Job): void {
    this.leases.delete(job);
    this.queue.end(job);
  }

  private begin(job: Job): void {
    const span = tracing && beginDelivery(tracing, job.claimed);
    if (span) void span.run(() => this.deliver(job)).finally(() => span.end());
    else void this.deliver(job);
  }

  private async deliver(job: Job): Promise<void> {
    this.underWay.add(job);
    const sent = await this.attempt(job);
    // Not the receiver's failure: the shutdown aborted the attempt, and releases the delivery. A status that has arrived counts.
    if (this.isCutting && sent.status === undefined) return;
    const writing = this.conclude(job, sent);
    this.recording.add(writing);
    this.underWay.delete(job);
    this.queue.end(job, isQuick(sent, this.options.attemptLimitMs * prompt));
    this.pump();
    if (!this.queue.isFull(job.ownerId)) this.loop.poke();
    if (this.underWay.size === 0) this.onIdle?.();
    await writing;
    this.recording.delete(writing);
  }

  /** Sends no `traceparent`: receivers are third parties, and one trace may cover orders of many customers. */
  private async attempt({ claimed, url, secrets }: Job): Promise<SendResult> {
    const span = tracing?.begin({ name: 'POST', kind: 'client', attributes: { 'http.request.method': 'POST' } });
    // Receivers refuse timestamps that are minutes off, so this host's clock is not trusted.
    const at = new Date(this.revocations.identityTime());
    const headers = signedHeaders(claimed.eventId, at, claimed.body, secrets);
    const sent = await this.sender.send({ url, at, headers, body: claimed.body });
    if (span) endAttempt(span, sent);
    return sent;
  }

  private async conclude(job: Job, sent: SendResult): Promise<void> {
    const outcome = outcomeOf(job.claimed, job.lease, sent, this.options.timeScale, Math.random());
    this.metrics.attempted(sent);
    try {
      if (await this.results.submit(0, { job, sent, outcome })) this.metrics.ended(outcome.state);
    } catch (error) {
      // When its lease ends, the delivery is sent once more.
      this.logger.warn({ err: error, delivery: job.claimed.id }, 'recording the outcome of a delivery failed');
    } finally {
      this.leases.delete(job);
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
    const attempts = batch.map(({ job, sent }) => ({ webhookId: job.claimed.webhookId, sent }));
    const health = healthOf(attempts, attemptLimitMs * prompt);
    const { written, failing } = await this.retried('recording outcomes of deliveries', () =>
      this.database.transaction(async (tx) => {
        const written = recordOutcomes(tx, batch.map(({ outcome }) => outcome));
        noteHealth(tx, health, limits);
        return { written, failing: exhausted.length === 0 ? [] : await findFailing(tx, exhausted, failingMs) };
      }, { useGenericPlans: true }),
    );
    const ids = written();
    const gone = batch.flatMap(({ job, sent }) => (isGone(sent) ? [job.claimed.webhookId] : []));
    await this.disable(gone, 'gone');
    await this.disable(failing, 'failing');
    this.loop.poke();
    return batch.map(({ job }) => ids.has(job.claimed.id));
  }

  /**
   * Runs in a separate transaction, because endpoints' rows are locked before all others. If it is lost, the next failure repeats it.
   * Throws nothing: the outcomes are recorded.
   */
  private async disable(webhookIds: readonly string[], reason: 'gone' | 'failing'): Promise<void> {
    for (const id of new Set(webhookIds)) {
      try {
        if (await this.retried('disabling a webhook', () => this.database.transaction((tx) => disableWebhook(tx, id, reason)))) {
          this.logger.info({ webhook: id, reason }, 'webhook disabled');
        }
      } catch (error) {
        this.logger.warn({ err: error, webhook: id, reason }, 'disabling a webhook failed');
      }
    }
  }

  private async giveBack(jobs: readonly Job[]): Promise<void> {
    for (const job of jobs) {
      if (this.underWay.delete(job)) this.queue.end(job);
      this.leases.delete(job);
    }
    if (jobs.length === 0) return;
    try {
      await this.database.transaction((tx) => giveBack(tx, jobs.map(({ claimed, lease }) => ({ id: claimed.id, lease }))));
    } catch (error) {
      // Their leases end anyway; continue with the shutdown.
      this.logger.warn({ err: error, deliveries: jobs.length }, 'releasing claimed deliveries failed');
    }
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
