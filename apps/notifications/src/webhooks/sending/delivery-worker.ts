import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { RevocationLog } from '@plant-shop/credentials/revocation-log';
import { isTransient } from '@plant-shop/platform/errors';
import { Batcher } from '@plant-shop/platform/batcher';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { type OpenSpan, type Tracing, tracing } from '@plant-shop/platform/telemetry/tracing';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../../options.js';
import type { WebhooksOptions } from '../endpoints/options.js';
import { SecretBox } from '../endpoints/secret-box.js';
import { findSecrets, type SecretRecord } from '../endpoints/secrets.repository.js';
import { disableWebhook } from '../endpoints/webhooks.repository.js';
import { DeliveryMetrics } from '../queue/delivery-metrics.js';
import { FairQueue } from '../queue/fair-queue.js';
import { pauseBeforeNextTurn, roomOf, type Turn } from '../queue/queue.js';
import {
  claimDue,
  type ClaimedDelivery,
  endTurns,
  findFailing,
  giveBack,
  noteHealth,
  type Outcome,
  recordOutcomes,
  renewLeases,
  takeTurns,
} from '../queue/queue.repository.js';
import { healthOf, isGone, isQuick, outcomeOf } from './outcome.js';
import { signedHeaders } from './signature.js';
import { WebhookSender, type SendResult } from './webhook-sender.js';

/** Claimed and not sent yet, for each attempt that may be under way: so that claims come in batches. */
const waitingPerAttempt = 2;
/** Endpoints of one claim. */
const maxTurns = 64;
const maxOutcomes = 500;
/** Of the lease, in which an attempt may begin: the clocks of two hosts do not run alike. */
const usable = 0.9;
/** Of the lease: how often it is renewed. */
const renewal = 0.25;
/** Between two attempts to write outcomes down while the database is away. */
const writeAgainMs = 250;
/** Of the limit of an attempt: 5 s. */
const prompt = 1 / 3;
/** For what is under way when the service stops; the rest of its shutdown has to fit as well. */
const finishMs = 1_500;

/** A claimed delivery with what it takes to send it. */
interface Job {
  readonly claimed: ClaimedDelivery;
  readonly lease: string;
  readonly ownerId: string;
  readonly webhookId: string;
  readonly url: URL;
  readonly secrets: readonly string[];
}

interface Attempted {
  readonly job: Job;
  readonly sent: SendResult;
  readonly outcome: Outcome;
}

/** Claims deliveries, sends them and writes down what came of it. Any number of replicas share the work. */
@Injectable()
export class DeliveryWorker implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly options: WebhooksOptions;
  private readonly loop: BackgroundLoop;
  private readonly renewing: BackgroundLoop;
  private readonly results: Batcher<Attempted, boolean>;
  private readonly queue: FairQueue<Job>;
  private readonly underWay = new Set<Job>();
  /** Until when the lease of each claimed delivery lasts for sure, as `performance.now()`; until its outcome is written. */
  private readonly held = new Map<Job, number>();
  /** What came of attempts and is not written down yet. */
  private readonly unwritten = new Set<Promise<void>>();
  private isStopping = false;
  private onIdle: (() => void) | undefined;

  constructor(
    private readonly database: Database,
    private readonly sender: WebhookSender,
    private readonly box: SecretBox,
    private readonly metrics: DeliveryMetrics,
    private readonly revocations: RevocationLog,
    @Inject(NOTIFICATIONS_OPTIONS) { webhooks }: NotificationsOptions,
    @InjectLogger() private readonly logger: Logger,
  ) {
    this.options = webhooks;
    this.loop = new BackgroundLoop({ name: 'send webhooks', intervalMs: webhooks.pollMs }, () => this.fetch(), logger);
    this.renewing = new BackgroundLoop({ name: 'renew leases of webhooks', intervalMs: webhooks.leaseMs * renewal }, () => this.renew(), logger);
    this.queue = new FairQueue(webhooks.inFlight, waitingPerAttempt);
    this.results = new Batcher<Attempted, boolean>({ name: 'record webhook outcomes', lanes: 1, maxBatch: maxOutcomes, onBatch: (count) => metrics.recorded(count) }, (batch) => this.recordSurely(batch));
    metrics.watchInFlight(() => this.underWay.size);
  }

  onApplicationBootstrap(): void {
    this.loop.start();
    this.renewing.start();
  }

  /** No new claims; what is under way may end; the rest goes back to be sent by others, or by us after the restart. */
  async onApplicationShutdown(): Promise<void> {
    this.isStopping = true;
    await this.loop.stop();
    await this.giveBack(this.queue.takeWaiting());
    await this.idleOr(finishMs);
    const cut = [...this.underWay];
    await this.sender.close();
    await this.giveBack(cut);
    await Promise.all(this.unwritten);
    await this.renewing.stop();
  }

  /** Nothing is being sent, and what came of all that was sent is written down or given up. */
  get isIdle(): boolean {
    return this.underWay.size === 0 && this.unwritten.size === 0;
  }

  /** There may be something due. */
  poke(): void {
    this.loop.poke();
  }

  /**
   * Claims for owners who have used up at least half of what may wait for them. While identity's revocations cannot be
   * followed, claims nothing and gives back what has not begun. @returns whether there may be more to do at once
   */
  async fetch(): Promise<boolean> {
    if (this.isStopping) return false;
    if (!this.revocations.isFresh) {
      // Whether their owners may still have them is not known here. Another replica may know it.
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
    const heldUntil = performance.now() + leaseMs * usable;
    const lease = randomUUID();
    const { turns, claimed, secrets } = await this.database.transaction(async (tx) => {
      const due = await takeTurns(tx, maxTurns, limits, this.queue.fullOwners());
      const shares = this.queue.sharesOf(due);
      // Without a share an endpoint keeps its turn, and is the first of its owner's when there is room again.
      const turns = due.flatMap((turn, n) => {
        const share = shares[n] ?? 0;
        return share < 1 ? [] : [{ turn, webhookId: turn.webhookId, share, room: roomOf(turn, share, limits) }];
      });
      if (turns.length === 0) return { turns, claimed: [], secrets: [] };
      // Together, since whoever makes deliveries waits for these rows: of some that get nothing the secrets are read for nothing.
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
    for (const job of jobs) this.held.set(job, heldUntil);
    return jobs;
  }

  /** One whose secrets cannot be read is left out: its deliveries wait for their lease to end, and others go on. */
  private endpointsOf(
    turns: readonly Turn[],
    secrets: readonly SecretRecord[],
  ): Map<string, Pick<Job, 'ownerId' | 'url' | 'secrets'>> {
    const endpoints = new Map<string, Pick<Job, 'ownerId' | 'url' | 'secrets'>>();
    for (const { webhookId, ownerId, url } of turns) {
      try {
        const own = secrets.filter((one) => one.webhookId === webhookId).map((one) => this.box.open(one, webhookId));
        if (own.length > 0) endpoints.set(webhookId, { ownerId, url: new URL(url), secrets: own });
      } catch (error) {
        this.logger.error({ err: error, webhook: webhookId }, 'the secrets of a webhook cannot be read');
      }
    }
    return endpoints;
  }

  private pump(): void {
    while (!this.isStopping && this.revocations.isFresh) {
      const job = this.queue.next();
      if (!job) break;
      if (performance.now() < (this.held.get(job) ?? 0)) this.begin(job);
      else this.drop(job);
    }
  }

  /** Its lease was not renewed in time: another worker may have claimed it. */
  private drop(job: Job): void {
    this.held.delete(job);
    this.queue.end(job);
  }

  /** A worker that is gone renews nothing, and one that has lost the database cannot: others have its deliveries within `leaseMs`. */
  private async renew(): Promise<boolean> {
    const { leaseMs } = this.options;
    const now = performance.now();
    // Most claims end before their first renewal, and cost none.
    const due = [...this.held].filter(([, until]) => until - now < leaseMs * (usable - renewal / 2)).map(([job]) => job);
    if (due.length === 0) return false;
    const claims = due.map(({ claimed, lease }) => ({ id: claimed.id, lease }));
    const renewed = await this.database.transaction((tx) => renewLeases(tx, claims, leaseMs));
    for (const job of due) {
      if (renewed.has(job.claimed.id) && this.held.has(job)) this.held.set(job, now + leaseMs * usable);
    }
    return false;
  }

  private begin(job: Job): void {
    const span = tracing && beginDelivery(tracing, job.claimed);
    if (span) void span.run(() => this.deliver(job)).finally(() => span.end());
    else void this.deliver(job);
  }

  private async deliver(job: Job): Promise<void> {
    this.underWay.add(job);
    const sent = await this.attempt(job);
    // Cut off and given back meanwhile.
    if (!this.underWay.has(job)) return;
    const writing = this.conclude(job, sent);
    this.unwritten.add(writing);
    this.underWay.delete(job);
    this.queue.end(job, isQuick(sent, this.options.attemptLimitMs * prompt));
    this.pump();
    if (!this.queue.isFull(job.ownerId)) this.loop.poke();
    if (this.underWay.size === 0) this.onIdle?.();
    await writing;
    this.unwritten.delete(writing);
  }

  /** Its `traceparent` stays here: a receiver is somebody else, and one run may have moved many customers' orders. */
  private async attempt({ claimed, url, secrets }: Job): Promise<SendResult> {
    const span = tracing?.begin({ name: 'POST', kind: 'client', attributes: { 'http.request.method': 'POST' } });
    // Receivers refuse what was signed minutes ago or ahead: a host whose clock is wrong must not decide that.
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
      // Its lease ends, and it is sent once more.
      this.logger.warn({ err: error, delivery: job.claimed.id }, 'the outcome of a delivery was not written down');
    } finally {
      this.held.delete(job);
    }
  }

  /**
   * Tries again until the database is back or this worker stops. Giving an outcome up would send its delivery once more; one
   * that comes too late changes nothing, since another worker has the lease.
   */
  private async recordSurely(batch: readonly Attempted[]): Promise<boolean[]> {
    for (;;) {
      try {
        return await this.record(batch);
      } catch (error) {
        if (this.isStopping || !isTransient(error)) throw error;
        this.logger.warn({ err: error, outcomes: batch.length }, 'outcomes of deliveries are not written down yet, trying again');
        await pause(writeAgainMs);
      }
    }
  }

  private async record(batch: readonly Attempted[]): Promise<boolean[]> {
    const { limits, failingMs, attemptLimitMs } = this.options;
    const exhausted = [...new Set(batch.flatMap(({ outcome }) => (outcome.state === 'failed' ? [outcome.delivery.webhookId] : [])))];
    const attempts = batch.map(({ job, sent }) => ({ webhookId: job.claimed.webhookId, sent }));
    const health = healthOf(attempts, attemptLimitMs * prompt);
    const { written, failing } = await this.database.transaction(async (tx) => {
      const written = recordOutcomes(tx, batch.map(({ outcome }) => outcome));
      noteHealth(tx, health, limits);
      return { written, failing: exhausted.length === 0 ? [] : await findFailing(tx, exhausted, failingMs) };
    }, { useGenericPlans: true });
    const ids = written();
    const gone = batch.flatMap(({ job, sent }) => (isGone(sent) ? [job.claimed.webhookId] : []));
    await this.disable(gone, 'gone');
    await this.disable(failing, 'failing');
    this.loop.poke();
    return batch.map(({ job }) => ids.has(job.claimed.id));
  }

  /** In a transaction of its own: the endpoint's row comes before all others. Lost, the next failure repeats it. */
  private async disable(webhookIds: readonly string[], reason: 'gone' | 'failing'): Promise<void> {
    for (const id of new Set(webhookIds)) {
      if (await this.database.transaction((tx) => disableWebhook(tx, id, reason))) {
        this.logger.info({ webhook: id, reason }, 'webhook disabled');
      }
    }
  }

  private async giveBack(jobs: readonly Job[]): Promise<void> {
    for (const job of jobs) {
      if (this.underWay.delete(job)) this.queue.end(job);
      this.held.delete(job);
    }
    if (jobs.length === 0) return;
    try {
      await this.database.transaction((tx) => giveBack(tx, jobs.map(({ claimed, lease }) => ({ id: claimed.id, lease }))));
    } catch (error) {
      // Their leases end, and the rest of the shutdown goes on.
      this.logger.warn({ err: error, deliveries: jobs.length }, 'claimed deliveries were not given back');
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

/** One delivery's turn: the attempt, and what is written down of it. Linked with what caused the event. */
const beginDelivery = (on: Tracing, { webhookId, eventId, made, traceparent }: ClaimedDelivery): OpenSpan =>
  on.begin({
    name: 'deliver webhook',
    kind: 'consumer',
    isRoot: true,
    links: [traceparent],
    attributes: {
      'messaging.operation.type': 'process',
      'messaging.message.id': eventId,
      'plant_shop.webhook.id': webhookId,
      'http.request.resend_count': made,
    },
  });

/** Where to is not said: an endpoint's URL may hold a secret of its owner. */
function endAttempt(span: OpenSpan, { status }: SendResult): void {
  if (status !== undefined) span.set({ 'http.response.status_code': status });
  span.end(status === undefined ? 'no answer' : status >= 300 ? String(status) : undefined);
}

function countByWebhook(claimed: readonly ClaimedDelivery[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { webhookId } of claimed) counts.set(webhookId, (counts.get(webhookId) ?? 0) + 1);
  return counts;
}
