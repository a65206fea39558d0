import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import type { Reader } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { gauge, sizeHistogram } from '@plant-shop/platform/service/metrics';
import { Counter, Registry } from 'prom-client';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions, type QueueLimits } from '../../options.js';
import { slotsFor } from './fair-queue.js';
import { QueueClock, queueNow } from './queue-clock.js';
import type { Outcome } from './queue.repository.js';

/** The pending work of all replicas together. */
export interface Backlog {
  readonly pending: number;
  readonly held: number;
  /** Deliveries that more replicas would send now: due, unclaimed, and within the limits of their endpoints. */
  readonly waiting: number;
  readonly oldestSeconds: number;
  readonly pausedEndpoints: number;
  readonly ownBehindSeconds: number;
  readonly allBehindSeconds: number;
  readonly allBehindEvents: number;
}

const noBacklog: Backlog = {
  pending: 0,
  held: 0,
  waiting: 0,
  oldestSeconds: 0,
  pausedEndpoints: 0,
  ownBehindSeconds: 0,
  allBehindSeconds: 0,
  allBehindEvents: 0,
};

/** SQL: seconds since the first event after this number was logged; 0 if there is none. */
const ageAfter = (seq: string): string => `coalesce(extract(epoch FROM now() - (
      SELECT l.logged_at FROM event_log l, feed_watermark f WHERE l.seq > ${seq} AND l.seq <= f.watermark ORDER BY l.seq LIMIT 1)), 0)::float8`;

// due_at of a claimed delivery is the end of its lease. Retries are due later; successors in a lane have no due time yet.
const backlogSql = `
  SELECT coalesce(sum(b.count) FILTER (WHERE w.state = 'enabled'), 0)::bigint AS pending,
    coalesce(sum(b.count) FILTER (WHERE w.state = 'disabled'), 0)::bigint AS held,
    coalesce(sum(least(b.due, greatest(0, CASE WHEN q.silent_attempts < $2 THEN $1::bigint ELSE 1 END - b.claimed)))
      FILTER (WHERE w.state = 'enabled' AND q.paused_until <= ${queueNow}), 0)::bigint AS waiting,
    coalesce(extract(epoch FROM now() - min(b.oldest) FILTER (WHERE w.state = 'enabled')), 0)::float8 AS "oldestSeconds",
    (SELECT count(*) FROM webhook_queues q JOIN webhooks e ON e.id = q.webhook_id
     WHERE e.state = 'enabled' AND q.paused_until > ${queueNow}) AS "pausedEndpoints",
    ${ageAfter('(SELECT watermark FROM webhook_watermark)')} AS "ownBehindSeconds",
    ${ageAfter("(SELECT min(c.watermark) FROM webhook_cursors c JOIN webhooks e ON e.id = c.webhook_id WHERE e.state = 'enabled')")} AS "allBehindSeconds",
    (SELECT coalesce(sum(f.watermark - c.watermark), 0)::bigint FROM feed_watermark f, webhook_cursors c
     JOIN webhooks e ON e.id = c.webhook_id WHERE e.state = 'enabled') AS "allBehindEvents"
  FROM (
    SELECT webhook_id, count(*), min(created_at) AS oldest, count(*) FILTER (WHERE due_at <= ${queueNow}) AS due,
      count(*) FILTER (WHERE lease IS NOT NULL AND due_at > ${queueNow}) AS claimed
    FROM webhook_deliveries WHERE ended_at IS NULL GROUP BY 1
  ) b JOIN webhooks w ON w.id = b.webhook_id JOIN webhook_queues q ON q.webhook_id = b.webhook_id`;

export async function readBacklog(db: Reader, { inFlight, silentAttempts }: QueueLimits): Promise<Backlog> {
  return onlyRow(await db.query<Backlog>(backlogSql, [inFlight, silentAttempts]));
}

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
    private readonly clock: QueueClock,
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
    this.backlog = await this.clock.transaction((tx) => readBacklog(tx, this.limits));
    return false;
  }
}
