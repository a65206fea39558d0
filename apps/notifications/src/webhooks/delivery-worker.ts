import { randomUUID } from 'node:crypto';
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Lanes } from '@plant-shop/platform/lanes';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/parts.module';
import { type OpenSpan, type Tracing, tracing } from '@plant-shop/platform/telemetry/tracing';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../options.js';
import { DeliveryMetrics } from './delivery-metrics.js';
import type { WebhooksOptions } from './options.js';
import { healthOf, isGone, outcomeOf } from './outcome.js';
import { pauseBeforeNextTurn, roomOf, type Turn } from './queue.js';
import {
  claimDue,
  type Claimed,
  endTurns,
  findFailing,
  giveBack,
  noteHealth,
  type Outcome,
  recordOutcomes,
  takeTurns,
} from './queue.repository.js';
import { SecretBox } from './secret-box.js';
import { Sender, type Sent } from './sender.js';
import { signedHeaders } from './signature.js';
import { disableWebhook, findSecrets, type SecretRecord } from './webhooks.repository.js';

/** Claimed and not sent yet, for each attempt that may be under way: so that claims come in batches. */
const waitingPerAttempt = 2;
/** Endpoints of one claim. */
const maxTurns = 64;
const maxOutcomes = 500;
/** Of the lease, so that an outcome can be written down before its end. */
const usable = 0.9;
/** Of the limit of an attempt: 5 s. */
const prompt = 1 / 3;
/** For what is under way when the service stops; the rest of its shutdown has to fit as well. */
const finishMs = 1_500;

/** A claimed delivery with what it takes to send it. */
interface Job {
  readonly claimed: Claimed;
  readonly lease: string;
  readonly url: URL;
  readonly secrets: readonly string[];
  /** It must begin before, or its lease could end under it. */
  readonly beginBy: number;
}

interface Done {
  readonly job: Job;
  readonly sent: Sent;
  readonly outcome: Outcome;
}

/** Claims deliveries, sends them and writes down what came of it. Any number of replicas share the work. */
@Injectable()
export class DeliveryWorker implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly options: WebhooksOptions;
  private readonly loop: BackgroundLoop;
  private readonly results: Lanes<Done, boolean>;
  private readonly waiting: Job[] = [];
  private readonly underWay = new Set<Job>();
  /** What came of attempts and is not written down yet. */
  private readonly unwritten = new Set<Promise<void>>();
  private isStopping = false;
  private onIdle: (() => void) | undefined;

  constructor(
    private readonly database: Database,
    private readonly sender: Sender,
    private readonly box: SecretBox,
    private readonly metrics: DeliveryMetrics,
    @Inject(NOTIFICATIONS_OPTIONS) { webhooks }: NotificationsOptions,
    @InjectLogger() private readonly logger: Logger,
  ) {
    this.options = webhooks;
    this.loop = new BackgroundLoop({ name: 'send webhooks', intervalMs: webhooks.pollMs }, () => this.fetch(), logger);
    this.results = new Lanes<Done, boolean>({ name: 'record webhook outcomes', count: 1, maxBatch: maxOutcomes, onBatch: (count) => metrics.recorded(count) }, (batch) => this.record(batch));
    metrics.watchInFlight(() => this.underWay.size);
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  /** No new claims; what is under way may end; the rest goes back to be sent by others, or by us after the restart. */
  async onApplicationShutdown(): Promise<void> {
    this.isStopping = true;
    await this.loop.stop();
    const unsent = this.waiting.splice(0);
    await this.giveBack(unsent);
    await this.idleOr(finishMs);
    const cut = [...this.underWay];
    await this.sender.close();
    await this.giveBack(cut);
    await Promise.all(this.unwritten);
  }

  /** Nothing is being sent, and what came of all that was sent is written down or given up. */
  get isIdle(): boolean {
    return this.underWay.size === 0 && this.unwritten.size === 0;
  }

  /** There may be something due. */
  poke(): void {
    this.loop.poke();
  }

  /** Claims when at least half of what may wait has been used up. @returns whether there may be more to do at once */
  async fetch(): Promise<boolean> {
    const capacity = this.options.inFlight * (1 + waitingPerAttempt);
    const room = capacity - this.waiting.length - this.underWay.size;
    if (this.isStopping || room < 1 || (this.waiting.length > 0 && room < capacity / 2)) return false;
    const jobs = await this.claim(room);
    // Pumping asks for more, and there was nothing.
    if (jobs.length === 0) return false;
    this.waiting.push(...jobs);
    this.pump();
    return this.waiting.length === 0;
  }

  private async claim(room: number): Promise<Job[]> {
    const { limits, leaseMs, attemptLimitMs } = this.options;
    const beginBy = performance.now() + leaseMs * usable - attemptLimitMs;
    const lease = randomUUID();
    const { turns, claimed, secrets } = await this.database.transaction(async (tx) => {
      const turns = await takeTurns(tx, Math.min(room, maxTurns), limits);
      if (turns.length === 0) return { turns, claimed: [], secrets: [] };
      const share = Math.ceil(room / turns.length);
      const rooms = turns.map((turn) => ({ turn, webhookId: turn.webhookId, room: roomOf(turn, share, limits) }));
      // Together, since whoever makes deliveries waits for these rows: of some that get nothing the secrets are read for nothing.
      const [claimed, secrets] = await Promise.all([
        claimDue(tx, rooms, lease, leaseMs),
        findSecrets(tx, turns.map((turn) => turn.webhookId)),
      ]);
      if (claimed.length > 0) tracing?.causedBy(claimed.map((one) => one.traceparent));
      const took = countByWebhook(claimed);
      endTurns(
        tx,
        rooms.map(({ turn, webhookId, room }) => {
          const count = took.get(webhookId) ?? 0;
          return { turn, tokens: turn.tokens - count, pauseMs: pauseBeforeNextTurn(turn, room, count, share, limits) };
        }),
      );
      return { turns, claimed, secrets };
    }, { keepsPlans: true });
    const endpoints = this.endpointsOf(turns, secrets);
    return claimed.flatMap((one) => {
      const endpoint = endpoints.get(one.webhookId);
      return endpoint ? [{ claimed: one, lease, beginBy, ...endpoint }] : [];
    });
  }

  /** One whose secrets cannot be read is left out: its deliveries wait for their lease to end, and others go on. */
  private endpointsOf(
    turns: readonly Turn[],
    secrets: readonly SecretRecord[],
  ): Map<string, Pick<Job, 'url' | 'secrets'>> {
    const endpoints = new Map<string, Pick<Job, 'url' | 'secrets'>>();
    for (const { webhookId, url } of turns) {
      try {
        const own = secrets.filter((one) => one.webhookId === webhookId).map((one) => this.box.open(one, webhookId));
        if (own.length > 0) endpoints.set(webhookId, { url: new URL(url), secrets: own });
      } catch (error) {
        this.logger.error({ err: error, webhook: webhookId }, 'the secrets of a webhook cannot be read');
      }
    }
    return endpoints;
  }

  private pump(): void {
    while (!this.isStopping && this.underWay.size < this.options.inFlight) {
      const job = this.waiting.shift();
      if (!job) break;
      // It has waited too long behind slow ones: its lease ends, and somebody claims it anew.
      if (performance.now() < job.beginBy) this.begin(job);
    }
    if (this.waiting.length <= this.options.inFlight / 2) this.loop.poke();
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
    this.pump();
    if (this.underWay.size === 0) this.onIdle?.();
    await writing;
    this.unwritten.delete(writing);
  }

  /** Its `traceparent` stays here: a receiver is somebody else, and one run may have moved many customers' orders. */
  private async attempt({ claimed, url, secrets }: Job): Promise<Sent> {
    const span = tracing?.begin({ name: 'POST', kind: 'client', attributes: { 'http.request.method': 'POST' } });
    const headers = signedHeaders(claimed.eventId, new Date(), claimed.body, secrets);
    const sent = await this.sender.send({ url, headers, body: claimed.body });
    if (span) endAttempt(span, sent);
    return sent;
  }

  private async conclude(job: Job, sent: Sent): Promise<void> {
    const outcome = outcomeOf(job.claimed, job.lease, sent, this.options.timeScale, Math.random());
    this.metrics.attempted(sent);
    try {
      if (await this.results.submit(0, { job, sent, outcome })) this.metrics.ended(outcome.state);
    } catch (error) {
      // Its lease ends, and it is sent once more.
      this.logger.warn({ err: error, delivery: job.claimed.id }, 'the outcome of a delivery was not written down');
    }
  }

  private async record(batch: readonly Done[]): Promise<boolean[]> {
    const { limits, failingMs, attemptLimitMs } = this.options;
    const exhausted = [...new Set(batch.flatMap(({ outcome }) => (outcome.state === 'failed' ? [outcome.delivery.webhookId] : [])))];
    const attempts = batch.map(({ job, sent }) => ({ webhookId: job.claimed.webhookId, sent }));
    const health = healthOf(attempts, attemptLimitMs * prompt);
    const { written, failing } = await this.database.transaction(async (tx) => {
      const written = recordOutcomes(tx, batch.map(({ outcome }) => outcome));
      noteHealth(tx, health, limits);
      return { written, failing: exhausted.length === 0 ? [] : await findFailing(tx, exhausted, failingMs) };
    }, { keepsPlans: true });
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
    for (const job of jobs) this.underWay.delete(job);
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
const beginDelivery = (on: Tracing, { webhookId, eventId, made, traceparent }: Claimed): OpenSpan =>
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
function endAttempt(span: OpenSpan, { status }: Sent): void {
  if (status !== undefined) span.set({ 'http.response.status_code': status });
  span.end(status === undefined ? 'no answer' : status >= 300 ? String(status) : undefined);
}

function countByWebhook(claimed: readonly Claimed[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { webhookId } of claimed) counts.set(webhookId, (counts.get(webhookId) ?? 0) + 1);
  return counts;
}
