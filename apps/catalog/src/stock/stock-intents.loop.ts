import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { RpcContext } from '@plant-shop/platform/rpc/context';
import { Deadline } from '@plant-shop/platform/rpc/deadline';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { tracing } from '@plant-shop/platform/telemetry/tracing';
import { hasPendingCalls, type PendingPlant } from './stock-intent.js';
import { leaseDueIntents } from './stock-intents.repository.js';
import { StockIntentsService } from './stock-intents.service.js';

const batch = 50;
/** Time limit of an intent's calls. Shorter than the shortest lease, so that no replica takes an intent that is still in progress. */
const budgetMs = 4_000;

/** Completes the intents that requests left pending: the request timed out, its process stopped, or the store was unavailable. */
@Injectable()
export class StockIntentsLoop extends BackgroundLoop {
  constructor(database: Database, intents: StockIntentsService, @InjectLogger() logger: Logger) {
    super({ name: 'stock intents', intervalMs: 1_000 }, () => processDueIntents(database, intents, logger), logger);
  }
}

/**
 * Processes one batch of due intents.
 * @returns whether to continue without a pause: after a full batch without failures. A failing store would otherwise cause a busy loop
 */
export async function processDueIntents(
  database: Database,
  intents: StockIntentsService,
  logger: Logger,
): Promise<boolean> {
  const taken = await leaseDueIntents(database, batch);
  if (taken.length > 0) tracing?.causedBy([]);
  const results = await Promise.allSettled(taken.map((plant) => processIntent(intents, plant)));
  const failed = results.filter((result) => result.status === 'rejected');
  if (taken.length > 0) {
    const err: unknown = failed[0]?.reason;
    logger.info({ taken: taken.length, failed: failed.length, ...(err !== undefined && { err }) }, 'stock intents');
  }
  return taken.length === batch && failed.length === 0;
}

async function processIntent(intents: StockIntentsService, plant: PendingPlant): Promise<void> {
  const context = new RpcContext(randomUUID(), Deadline.in(budgetMs), undefined, tracing?.active?.traceparent);
  const { id, incarnation, retireAttempt } = plant;
  if (retireAttempt !== null) {
    const { deleted } = await intents.retire(context, id, incarnation, retireAttempt);
    if (deleted) return;
  }
  if (hasPendingCalls(plant)) await intents.syncPlant(context, plant);
}
