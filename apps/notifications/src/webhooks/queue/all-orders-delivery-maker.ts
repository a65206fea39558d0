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
const scannedPerRow = 10;
/** How soon to look again at cursors that another replica has locked. */
const lockedMs = 20;
const maxRestMs = 500;

/**
 * Makes deliveries to endpoints of all orders. Each endpoint follows the log with a cursor and has a limited number of deliveries
 * made ahead, so an endpoint that is far behind costs one row and not a row for each event. Endpoints take turns, and any number
 * of replicas share the work. A large step is followed by a rest of the same length, to leave the database to other work.
 */
@Injectable()
export class AllOrdersDeliveryMaker extends BackgroundLoop {
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
    super({ name: 'make deliveries of all orders', intervalMs }, () => this.make(), logger);
    this.size = new StepSize(webhooks.stepRows);
    this.limitMs = webhooks.stepLimitMs;
    this.largeStep = webhooks.stepRows / 4;
  }

  /** Returns whether to continue at once, or in how many milliseconds. */
  private async make(): Promise<boolean | number> {
    const begun = performance.now();
    const locked: string[] = [];
    try {
      const { count, nextLookMs } = await this.step(locked);
      if (locked.length > 0) this.size.grow();
      this.metrics.made('all', count);
      if (count > 0) this.due.raise();
      if (count >= this.largeStep) await pause(Math.min(performance.now() - begun, maxRestMs));
      if (nextLookMs === null) return false;
      return nextLookMs > 0 ? nextLookMs : locked.length > 0 || lockedMs;
    } catch (error) {
      const tooLarge = wasTooLarge(error);
      if (!tooLarge && isTransient(error)) throw error;
      this.logger.warn({ err: error, deliveries: this.size.rows, endpoints: locked.length }, 'making deliveries failed, trying with half as many');
      this.size.halve();
      this.metrics.halved('all');
      // Other endpoints go first. Repeated halving isolates an endpoint that makes steps fail.
      await this.database.transaction((tx) => postpone(tx, locked));
      if (!tooLarge) throw error;
      return true;
    }
  }

  /** @param locked is filled with the endpoints of the step */
  private async step(locked: string[]): Promise<{ count: number; nextLookMs: number | null }> {
    const { rows } = this.size;
    const { count, nextLook } = await this.database.transaction(async (tx) => {
      limitStatements(tx, this.limitMs);
      const cursors = await lockCursors(tx, this.size.endpoints(maxEndpoints));
      locked.splice(0, Infinity, ...cursors.map((one) => one.webhookId));
      const [first] = cursors;
      if (!first) return { count: 0, nextLook: findNextLook(tx) };
      const { count, causes } = await enqueueForAll(tx, cursors, { rows, scannedPerRow, window: windowOf(first.endpoints) });
      if (count > 0) tracing?.causedBy(causes);
      return { count, nextLook: findNextLook(tx) };
    }, { useGenericPlans: true });
    return { count, nextLookMs: nextLook() };
  }
}
