import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { gauge, sizeHistogram } from '@plant-shop/platform/service/metrics';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { Counter, Registry } from 'prom-client';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions, type QueueLimits } from '../../options.js';
import { type Backlog, noBacklog, readBacklog } from './backlog.repository.js';
import { slotsFor } from './fair-queue.js';
import type { Outcome } from './queue.repository.js';

const intervalMs = 15_000;

/** Endpoints that see their owner's orders, or that were created for all orders. */
export type Endpoints = 'own' | 'all';

/** Metrics of webhooks: attempts and deliveries of this replica, and every 15 s the backlog of all replicas. */
@Injectable()
export class DeliveryMetrics extends BackgroundLoop {
  private readonly attempts: Counter<'status'>;
  private readonly deliveries: Counter<'outcome'>;
  private readonly enqueuedDeliveries: Counter<'endpoints'>;
  private readonly halvedSteps: Counter<'endpoints'>;
  /** Observes the size of each batch of outcomes that is recorded. */
  readonly recorded: (count: number) => void;
  private readonly limits: QueueLimits;
  private backlog: Backlog = noBacklog;

  constructor(
    private readonly database: Database,
    private readonly registry: Registry,
    @Inject(NOTIFICATIONS_OPTIONS) { webhooks }: NotificationsOptions,
    @InjectLogger() logger: Logger,
  ) {
    super({ name: 'count deliveries', intervalMs }, () => this.count(), logger);
    this.limits = webhooks.limits;
    this.attempts = new Counter({
      name: 'webhook_attempts_total',
      help: 'POSTs to endpoints, by class of the response; none: no response',
      labelNames: ['status'],
      registers: [registry],
    });
    this.deliveries = new Counter({
      name: 'webhook_deliveries_total',
      help: 'Deliveries that have ended',
      labelNames: ['outcome'],
      registers: [registry],
    });
    this.recorded = sizeHistogram(registry, 'webhook_batch_outcomes', 'Outcomes of attempts that were recorded together');
    gauge(registry, 'webhook_deliveries_pending', 'Deliveries to enabled endpoints that have not ended', () => this.backlog.pending);
    gauge(registry, 'webhook_deliveries_waiting', 'Deliveries that more replicas would send now: due, unclaimed and within the limits of their endpoint', () => this.backlog.waiting);
    gauge(registry, 'webhook_attempts_limit', 'Maximum number of concurrent POSTs of the replica', () => slotsFor(webhooks.inFlight));
    gauge(registry, 'webhook_deliveries_held', 'Deliveries that wait for a disabled endpoint', () => this.backlog.held);
    gauge(registry, 'webhook_oldest_undelivered_seconds', 'Age of the oldest delivery to an enabled endpoint, or of the oldest event whose deliveries are not enqueued yet', () => {
      const { oldestSeconds, ownBehindSeconds, allBehindSeconds } = this.backlog;
      return Math.max(oldestSeconds, ownBehindSeconds, allBehindSeconds);
    });
    gauge(registry, 'webhook_endpoints_paused', 'Endpoints that nothing is sent to for now: they do not respond, or asked for a pause', () => this.backlog.pausedEndpoints);
    this.enqueuedDeliveries = new Counter({
      name: 'webhook_deliveries_enqueued_total',
      help: "Deliveries enqueued, by what their endpoints see: own: their owner's orders; all: all orders",
      labelNames: ['endpoints'],
      registers: [registry],
    });
    this.halvedSteps = new Counter({
      name: 'webhook_enqueue_steps_halved_total',
      help: 'Steps of enqueueing deliveries that took too long and were halved',
      labelNames: ['endpoints'],
      registers: [registry],
    });
    gauge(registry, 'webhook_log_behind_seconds', "Age of the oldest event whose deliveries to endpoints of their owner's orders are not enqueued yet", () => this.backlog.ownBehindSeconds);
    gauge(registry, 'webhook_cursors_behind_seconds', 'Age of the oldest event that the cursor of an enabled endpoint of all orders has not reached', () => this.backlog.allBehindSeconds);
    gauge(registry, 'webhook_cursors_behind_events', 'Events that the cursors of enabled endpoints of all orders have not reached, summed over the endpoints', () => this.backlog.allBehindEvents);
  }

  watchInFlight(read: () => number): void {
    gauge(this.registry, 'webhook_attempts_in_flight', 'POSTs in progress', read);
  }

  attempted({ status }: { readonly status?: number }): void {
    this.attempts.inc({ status: status === undefined ? 'none' : `${Math.floor(status / 100)}xx` });
  }

  ended(state: Outcome['state']): void {
    if (state !== 'pending') this.deliveries.inc({ outcome: state });
  }

  enqueued(endpoints: Endpoints, count: number): void {
    this.enqueuedDeliveries.inc({ endpoints }, count);
  }

  halved(endpoints: Endpoints): void {
    this.halvedSteps.inc({ endpoints });
  }

  private async count(): Promise<boolean> {
    this.backlog = await readBacklog(this.database, this.limits);
    return false;
  }
}
