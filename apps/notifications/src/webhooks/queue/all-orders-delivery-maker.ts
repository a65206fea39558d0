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

/** How often the log is looked at although nobody said that it has grown. */
const intervalMs = 2_000;
/** Endpoints of one step. */
const maxEndpoints = 64;
const scannedPerRow = 10;
/** How soon cursors are looked at again that another replica has locked. */
const lockedMs = 20;
const longestRestMs = 500;

/**
 * Makes deliveries to endpoints of all orders. Each follows the log with a cursor, and only so many of its deliveries are made
 * that are due at the same time: how far an endpoint is behind costs a number, not a row for each event. Endpoints take
 * turns, and any number of replicas share them. A large step is followed by a rest of its own length, which leaves the
 * database to everybody else.
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

  /** @returns whether to go on at once, or in how many milliseconds */
  private async make(): Promise<boolean | number> {
    const begun = performance.now();
    const locked: string[] = [];
    try {
      const { count, nextLookMs } = await this.step(locked);
      if (locked.length > 0) this.size.grow();
      this.metrics.made('all', count);
      if (count > 0) this.due.raise();
      if (count >= this.largeStep) await pause(Math.min(performance.now() - begun, longestRestMs));
      if (nextLookMs === null) return false;
      return nextLookMs > 0 ? nextLookMs : locked.length > 0 || lockedMs;
    } catch (error) {
      const tooLarge = wasTooLarge(error);
      if (!tooLarge && isTransient(error)) throw error;
      this.logger.warn({ err: error, deliveries: this.size.rows, endpoints: locked.length }, 'making deliveries failed, trying with half as many');
      this.size.halve();
      this.metrics.halved('all');
      // Others go first, and halving finds the endpoint at fault, if it is one.
      await this.database.transaction((tx) => postpone(tx, locked));
      if (!tooLarge) throw error;
      return true;
    }
  }

  /** @param locked takes the endpoints of the step */
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
