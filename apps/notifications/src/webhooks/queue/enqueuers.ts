import { setTimeout as pause } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { isTransient } from '@plant-shop/platform/errors';
import type { Logger } from '@plant-shop/platform/logging';
import { lockTimeout, sqlStateOf, statementTimeout } from '@plant-shop/platform/postgres/sqlstate';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { tracing } from '@plant-shop/platform/telemetry/tracing';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../../options.js';
import { enqueueForAll, enqueueOwn, type StepResult } from './deliveries.repository.js';
import { DeliveryMetrics } from './delivery-metrics.js';
import { DueSignal } from './due-signal.js';
import { QueueClock } from './queue-clock.js';
import { findCauses, findNextLook, lockEndpointsBehind, lockWebhookWatermark, postpone } from './positions.repository.js';

/** The number of deliveries of a step: halved after a step that took too long, doubled after one that succeeded. */
export class StepSize {
  private size: number;

  constructor(private readonly max: number) {
    this.size = max;
  }

  get rows(): number {
    return this.size;
  }

  /** Returns how many of `max` endpoints share a step. Halving reduces the number of endpoints rather than the share of each. */
  endpoints(max: number): number {
    return Math.max(1, Math.min(this.size, Math.floor((max * this.size) / this.max)));
  }

  halve(): void {
    this.size = Math.max(1, Math.floor(this.size / 2));
  }

  grow(): void {
    this.size = Math.min(this.max, this.size * 2);
  }
}

/** Returns whether a step was rolled back by a time limit of Postgres, so that a smaller one may succeed. */
export const wasTooLarge = (error: unknown): boolean =>
  [statementTimeout, lockTimeout].includes(sqlStateOf((error as { readonly cause?: unknown } | null)?.cause) ?? '');

/** Maximum number of due deliveries, over all endpoints of all orders. About 100 MB of rows and indexes. */
const maxDueTotal = 200_000;
const maxDue = 1_000;
const minDue = 20;

/** Returns how many due deliveries one endpoint may have: the fewer, the more endpoints of all orders there are. */
export const windowOf = (endpoints: number): number =>
  Math.max(minDue, Math.min(maxDue, Math.floor(maxDueTotal / Math.max(1, endpoints))));

/** How often the log is read without an announcement: the process that logged events may have crashed before it announced them. */
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
    private readonly clock: QueueClock,
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

  /** Runs one step. Returns true to continue at once, the pause in milliseconds, or false to wait for the interval or a notification. */
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
      if (count > 0) this.due.notify();
      // Within the run, because a notification would end a pause of the loop.
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
      await this.clock.transaction((tx) => postpone(tx, endpoints));
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
    const { count, nextLook } = await this.clock.transaction(async (tx) => {
      const cursors = await lockEndpointsBehind(tx, this.size.endpoints(maxEndpoints));
      onLocked(cursors.map((one) => one.webhookId));
      const [first] = cursors;
      if (!first) return { count: 0, nextLook: findNextLook(tx) };
      const { count, causes } = await enqueueForAll(tx, cursors, { rows, scannedPerRow, window: windowOf(first.endpoints) });
      if (count > 0) tracing?.causedBy(causes);
      return { count, nextLook: findNextLook(tx) };
    }, { useGenericPlans: true, limitMs: this.limitMs });
    return { count, nextLookMs: nextLook() };
  }
}

/**
 * Enqueues deliveries of logged events to endpoints that see their owner's orders. It runs after logging, in its own transactions, so
 * that a wait for an endpoint's queue delays no frame of the stream. The replica that has logged events notifies its own enqueuer;
 * any number of replicas share the work, one at a time. The number of deliveries bounds a step, and a step that takes too long is
 * halved.
 */
@Injectable()
export class OwnOrdersEnqueuer extends BackgroundLoop {
  private readonly size: StepSize;
  private readonly limitMs: number;

  constructor(
    private readonly clock: QueueClock,
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
    if (step.count > 0) this.due.notify();
    return step.hasMore;
  }

  private async step(): Promise<StepResult | undefined> {
    const { rows } = this.size;
    const result = await this.clock.transaction(async (tx) => {
      const range = await lockWebhookWatermark(tx, rows);
      if (!range) return undefined;
      if (tracing) tracing.causedBy(await findCauses(tx, range));
      return enqueueOwn(tx, range, rows);
    }, { useGenericPlans: true, limitMs: this.limitMs });
    return result?.();
  }
}
