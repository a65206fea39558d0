import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { tracing } from '@plant-shop/platform/telemetry/tracing';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../../options.js';
import { enqueueOwn, limitStatements, type StepResult } from './deliveries.repository.js';
import { DeliveryMetrics } from './delivery-metrics.js';
import { DueSignal } from './due-signal.js';
import { StepSize, wasTooLarge } from './step-size.js';
import { findCauses, lockWebhookWatermark } from './webhook-watermark.repository.js';

/** How often the log is read without an announcement: the process that logged events may have crashed before it announced them. */
const intervalMs = 2_000;

/**
 * Enqueues deliveries of logged events to endpoints that see their owner's orders. It runs after logging, in its own transactions, so
 * that a wait for an endpoint's queue delays no frame of the stream. The replica that has logged events pokes its own enqueuer;
 * any number of replicas share the work, one at a time. The number of deliveries bounds a step, and a step that takes too long is
 * halved.
 */
@Injectable()
export class OwnOrdersEnqueuer extends BackgroundLoop {
  private readonly size: StepSize;
  private readonly limitMs: number;

  constructor(
    private readonly database: Database,
    private readonly due: DueSignal,
    private readonly metrics: DeliveryMetrics,
    @Inject(NOTIFICATIONS_OPTIONS) { webhooks }: NotificationsOptions,
    @InjectLogger() logger: Logger,
  ) {
    super({ name: 'enqueue deliveries', intervalMs }, () => this.enqueue(), logger);
    this.size = new StepSize(webhooks.stepRows);
    this.limitMs = webhooks.stepLimitMs;
  }

  /** Returns whether there is more to do at once. */
  private async enqueue(): Promise<boolean> {
    let step: StepResult | undefined;
    try {
      step = await this.step();
    } catch (error) {
      if (!wasTooLarge(error)) throw error;
      this.logger.warn({ err: error, deliveries: this.size.rows }, 'enqueueing deliveries took too long, trying with half as many');
      this.size.halve();
      this.metrics.halved('own');
      return this.size.rows > 1;
    }
    if (!step) return false;
    this.size.grow();
    this.metrics.enqueued('own', step.count);
    if (step.count > 0) this.due.raise();
    return step.hasMore;
  }

  private async step(): Promise<StepResult | undefined> {
    const { rows } = this.size;
    const result = await this.database.transaction(async (tx) => {
      limitStatements(tx, this.limitMs);
      const range = await lockWebhookWatermark(tx, rows);
      if (!range) return undefined;
      if (tracing) tracing.causedBy(await findCauses(tx, range));
      return enqueueOwn(tx, range, rows);
    }, { useGenericPlans: true });
    return result?.();
  }
}
