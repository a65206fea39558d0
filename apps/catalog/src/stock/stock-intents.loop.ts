import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { RpcContext } from '@plant-shop/platform/rpc/context';
import { Deadline } from '@plant-shop/platform/rpc/deadline';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { tracing } from '@plant-shop/platform/telemetry/tracing';
import { hasToTell, type PendingPlant } from './stock-intent.js';
import { takeDueIntents } from './stock-intents.repository.js';
import { StockIntentsService } from './stock-intents.service.js';

const batch = 50;
/** Less than the shortest lease, so that an intent is not taken again while the store may still answer. */
const budgetMs = 4_000;

/** Goes on with what requests could not finish: theirs ended, this process restarted, or the store was away. */
@Injectable()
export class StockIntentsLoop extends BackgroundLoop {
  constructor(database: Database, intents: StockIntentsService, @InjectLogger() logger: Logger) {
    super({ name: 'stock intents', intervalMs: 1_000 }, () => goOnWithIntents(database, intents, logger), logger);
  }
}

/** One batch. @returns whether more may be due; not while the store is away, so that a backlog does not spin */
export async function goOnWithIntents(
  database: Database,
  intents: StockIntentsService,
  logger: Logger,
): Promise<boolean> {
  const taken = await takeDueIntents(database, batch);
  if (taken.length > 0) tracing?.causedBy([]);
  const results = await Promise.allSettled(taken.map((plant) => goOn(intents, plant)));
  const failed = results.filter((result) => result.status === 'rejected');
  if (taken.length > 0) {
    const err: unknown = failed[0]?.reason;
    logger.info({ taken: taken.length, failed: failed.length, ...(err !== undefined && { err }) }, 'stock intents');
  }
  return taken.length === batch && failed.length === 0;
}

async function goOn(intents: StockIntentsService, plant: PendingPlant): Promise<void> {
  const context = new RpcContext(randomUUID(), Deadline.in(budgetMs), undefined, tracing?.active?.traceparent);
  const { id, incarnation, retireAttempt } = plant;
  if (retireAttempt !== null) {
    const { deleted } = await intents.retire(context, id, incarnation, retireAttempt);
    if (deleted) return;
  }
  if (hasToTell(plant)) await intents.tell(context, plant);
}
