import { setTimeout as pause } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { isTransient } from '@plant-shop/platform/errors';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { tracing } from '@plant-shop/platform/telemetry/tracing';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../../options.js';
import { enqueueForAll, limitStatements } from './deliveries.repository.js';
import { DeliveryMetrics } from './delivery-metrics.js';
import { DueSignal } from './due-signal.js';
import { StepSize, wasTooLarge, windowOf } from './step-size.js';
import { findNextLook, lockCursors, postpone } from './webhook-cursors.repository.js';

/** How often the log is read without an announcement. */
const intervalMs = 2_000;
/** Maximum number of endpoints in a step. */
const maxEndpoints = 64;
/** Events scanned for each delivery of an endpoint's share. */
const scannedPerRow = 10;
/** Pause before looking again at due cursors that other replicas have locked. */
const lockedMs = 20;
/** Maximum rest after a large step. */
const maxRestMs = 500;

/**
 * Enqueues deliveries to endpoints of all orders. Each endpoint follows the log with a cursor and has a limited number of due
 * deliveries, so an endpoint that is far behind costs one row and not a row for each event. Endpoints take turns, and any number
 * of replicas share the work. A large step is followed by a rest of the same length, to leave the database to other work.
 */
@Injectable()
export class AllOrdersEnqueuer extends BackgroundLoop {
  private readonly size: StepSize;
  private readonly limitMs: number;
  private readonly largeStep: number;

  constructor(
    private readonly database: Database,
    private readonly due: DueSignal,
    private readonly metrics: DeliveryMetrics,
    @Inject(NOTIFICATIONS_OPTIONS) { webhooks }: NotificationsOptions,
    @InjectLogger() logger: Logger,
  ) {
    super({ name: 'enqueue deliveries of all orders', intervalMs }, () => this.enqueue(), logger);
    this.size = new StepSize(webhooks.stepRows);
    this.limitMs = webhooks.stepLimitMs;
    this.largeStep = webhooks.stepRows / 4;
  }

  /** Runs one step. Returns true to continue at once, the pause in milliseconds, or false to wait for the interval or a poke. */
  private async enqueue(): Promise<boolean | number> {
    const begunAt = performance.now();
    // Known also if the step fails.
    let endpoints: readonly string[] = [];
    try {
      const { count, nextLookMs } = await this.step((locked) => {
        endpoints = locked;
      });
      if (endpoints.length > 0) this.size.grow();
      this.metrics.enqueued('all', count);
      if (count > 0) this.due.raise();
      // Within the run, because a poke would end a pause of the loop.
      if (count >= this.largeStep) await pause(Math.min(performance.now() - begunAt, maxRestMs));
      if (nextLookMs === null) return false;
      if (nextLookMs > 0) return nextLookMs;
      // A cursor is due. If this step found none to lock, other replicas have locked those that are due.
      return endpoints.length > 0 ? true : lockedMs;
    } catch (error) {
      const tooLarge = wasTooLarge(error);
      if (!tooLarge && isTransient(error)) throw error;
      this.logger.warn({ err: error, deliveries: this.size.rows, endpoints: endpoints.length }, 'enqueueing deliveries failed, trying with half as many');
      this.size.halve();
      this.metrics.halved('all');
      // Other endpoints go first. Repeated halving isolates an endpoint that makes steps fail.
      await this.database.transaction((tx) => postpone(tx, endpoints));
      if (!tooLarge) throw error;
      return true;
    }
  }

  /**
   * Enqueues deliveries to the endpoints that have waited longest. Returns the number of deliveries, and the milliseconds until the next
   * cursor is due; null if none is behind.
   * @param onLocked gets the ids of the endpoints of the step, again if the transaction runs again: then they may be others
   */
  private async step(onLocked: (webhookIds: readonly string[]) => void): Promise<{ count: number; nextLookMs: number | null }> {
    const { rows } = this.size;
    const { count, nextLook } = await this.database.transaction(async (tx) => {
      limitStatements(tx, this.limitMs);
      const cursors = await lockCursors(tx, this.size.endpoints(maxEndpoints));
      onLocked(cursors.map((one) => one.webhookId));
      const [first] = cursors;
      if (!first) return { count: 0, nextLook: findNextLook(tx) };
      const { count, causes } = await enqueueForAll(tx, cursors, { rows, scannedPerRow, window: windowOf(first.endpoints) });
      if (count > 0) tracing?.causedBy(causes);
      return { count, nextLook: findNextLook(tx) };
    }, { useGenericPlans: true });
    return { count, nextLookMs: nextLook() };
  }
}
