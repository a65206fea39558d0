import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { gauge, sizes } from '@plant-shop/platform/service/metrics';
import { InjectLogger } from '@plant-shop/platform/service/parts.module';
import { Counter, Registry } from 'prom-client';
import type { Outcome } from './queue.repository.js';
import type { Sent } from './sender.js';

const intervalMs = 15_000;

interface Backlog {
  readonly pending: number;
  readonly held: number;
  readonly oldestSeconds: number;
  readonly silentEndpoints: number;
  readonly ownBehindSeconds: number;
  readonly allBehindSeconds: number;
  readonly allBehindEvents: number;
}

/** Endpoints that see their owner's orders, or that were made to see all. */
export type Endpoints = 'own' | 'all';

/** Seconds since the first event after this number was logged; 0: there is none. */
const ageAfter = (seq: string): string => `coalesce(extract(epoch FROM now() - (
      SELECT l.logged_at FROM event_log l, feed_watermark f WHERE l.seq > ${seq} AND l.seq <= f.watermark ORDER BY l.seq LIMIT 1)), 0)::float8`;

const readBacklog = `
  SELECT coalesce(sum(b.count) FILTER (WHERE w.state = 'enabled'), 0)::bigint AS pending,
    coalesce(sum(b.count) FILTER (WHERE w.state = 'disabled'), 0)::bigint AS held,
    coalesce(extract(epoch FROM now() - min(b.oldest) FILTER (WHERE w.state = 'enabled')), 0)::float8 AS "oldestSeconds",
    (SELECT count(*) FROM webhook_queues q JOIN webhooks e ON e.id = q.webhook_id
     WHERE e.state = 'enabled' AND q.paused_until > now()) AS "silentEndpoints",
    ${ageAfter('(SELECT watermark FROM webhook_watermark)')} AS "ownBehindSeconds",
    ${ageAfter('(SELECT min(c.watermark) FROM webhook_cursors c JOIN webhooks e ON e.id = c.webhook_id WHERE e.state = \'enabled\')')} AS "allBehindSeconds",
    (SELECT coalesce(sum(f.watermark - c.watermark), 0)::bigint FROM feed_watermark f, webhook_cursors c
     JOIN webhooks e ON e.id = c.webhook_id WHERE e.state = 'enabled') AS "allBehindEvents"
  FROM (SELECT webhook_id, count(*), min(created_at) AS oldest FROM webhook_deliveries WHERE ended_at IS NULL GROUP BY 1) b
  JOIN webhooks w ON w.id = b.webhook_id`;

/** What this replica does, and every 15 s what all of them have to do. */
@Injectable()
export class DeliveryMetrics implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly attempts: Counter<'status'>;
  private readonly deliveries: Counter<'outcome'>;
  private readonly madeDeliveries: Counter<'endpoints'>;
  private readonly halvedSteps: Counter<'endpoints'>;
  /** Told of each batch of outcomes that are written down together. */
  readonly recorded: (count: number) => void;
  private readonly loop: BackgroundLoop;
  private backlog: Backlog = { pending: 0, held: 0, oldestSeconds: 0, silentEndpoints: 0, ownBehindSeconds: 0, allBehindSeconds: 0, allBehindEvents: 0 };

  constructor(
    private readonly database: Database,
    private readonly registry: Registry,
    @InjectLogger() logger: Logger,
  ) {
    this.attempts = new Counter({
      name: 'webhook_attempts_total',
      help: 'POSTs to endpoints, by the class of the answer; none: there was no answer',
      labelNames: ['status'],
      registers: [registry],
    });
    this.deliveries = new Counter({
      name: 'webhook_deliveries_total',
      help: 'Deliveries that have ended',
      labelNames: ['outcome'],
      registers: [registry],
    });
    this.recorded = sizes(registry, 'webhook_batch_outcomes', 'Outcomes of attempts that were written down together');
    gauge(registry, 'webhook_deliveries_pending', 'Deliveries to enabled endpoints that have not ended', () => this.backlog.pending);
    gauge(registry, 'webhook_deliveries_held', 'Deliveries that wait for a disabled endpoint', () => this.backlog.held);
    gauge(registry, 'webhook_oldest_undelivered_seconds', 'Age of the oldest delivery to an enabled endpoint, or of the oldest event whose deliveries are not made', () => {
      const { oldestSeconds, ownBehindSeconds, allBehindSeconds } = this.backlog;
      return Math.max(oldestSeconds, ownBehindSeconds, allBehindSeconds);
    });
    gauge(registry, 'webhook_endpoints_paused', 'Endpoints that nothing is sent to for now: they do not answer, or asked for it', () => this.backlog.silentEndpoints);
    this.madeDeliveries = new Counter({
      name: 'webhook_deliveries_made_total',
      help: "Deliveries made of the log's events, by what their endpoints see: own: their owner's orders; all: all orders",
      labelNames: ['endpoints'],
      registers: [registry],
    });
    this.halvedSteps = new Counter({
      name: 'webhook_making_halved_total',
      help: 'Steps that made deliveries, took too long and were halved',
      labelNames: ['endpoints'],
      registers: [registry],
    });
    gauge(registry, 'webhook_log_behind_seconds', "Age of the oldest event of the log whose deliveries to endpoints of their owner's orders are not made", () => this.backlog.ownBehindSeconds);
    gauge(registry, 'webhook_cursors_behind_seconds', 'Age of the oldest event of the log that an enabled endpoint of all orders has not come to', () => this.backlog.allBehindSeconds);
    gauge(registry, 'webhook_cursors_behind_events', 'Events that enabled endpoints of all orders have not come to in the log, added up over the endpoints', () => this.backlog.allBehindEvents);
    this.loop = new BackgroundLoop({ name: 'count deliveries', intervalMs }, () => this.count(), logger);
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  watchInFlight(read: () => number): void {
    gauge(this.registry, 'webhook_attempts_in_flight', 'POSTs under way', read);
  }

  attempted({ status }: Sent): void {
    this.attempts.inc({ status: status === undefined ? 'none' : `${Math.floor(status / 100)}xx` });
  }

  ended(state: Outcome['state']): void {
    if (state !== 'pending') this.deliveries.inc({ outcome: state });
  }

  made(endpoints: Endpoints, count: number): void {
    this.madeDeliveries.inc({ endpoints }, count);
  }

  halved(endpoints: Endpoints): void {
    this.halvedSteps.inc({ endpoints });
  }

  private async count(): Promise<boolean> {
    this.backlog = onlyRow(await this.database.query<Backlog>(readBacklog));
    return false;
  }
}
