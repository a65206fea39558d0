import { randomUUID } from 'node:crypto';
import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { RpcContext } from '@plant-shop/platform/rpc/context';
import { Deadline } from '@plant-shop/platform/rpc/deadline';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/parts.module';
import { hasToTell, type PendingPlant } from './stock-intent.js';
import { takeDueIntents } from './stock-intents.repository.js';
import { StockIntentsService } from './stock-intents.service.js';

const batch = 50;
/** Less than the shortest lease, so that an intent is not taken again while the store may still answer. */
const budgetMs = 4_000;

/** Goes on with what requests could not finish: theirs ended, this process restarted, or the store was away. */
@Injectable()
export class StockIntentsLoop implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loop: BackgroundLoop;

  constructor(
    private readonly database: Database,
    private readonly intents: StockIntentsService,
    @InjectLogger() private readonly logger: Logger,
  ) {
    this.loop = new BackgroundLoop({ name: 'stock intents', intervalMs: 1_000 }, () => this.run(), logger);
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  /** One batch. @returns whether more may be due; not while the store is away, so that a backlog does not spin */
  async run(): Promise<boolean> {
    const taken = await this.database.transaction((tx) => takeDueIntents(tx, batch));
    const results = await Promise.allSettled(taken.map((plant) => this.goOn(plant)));
    const failed = results.filter((result) => result.status === 'rejected');
    if (taken.length > 0) {
      const err: unknown = failed[0]?.reason;
      this.logger.info({ taken: taken.length, failed: failed.length, ...(err !== undefined && { err }) }, 'stock intents');
    }
    return taken.length === batch && failed.length === 0;
  }

  private async goOn(plant: PendingPlant): Promise<void> {
    const context = new RpcContext(randomUUID(), Deadline.in(budgetMs));
    const { id, incarnation, retireAttempt } = plant;
    if (retireAttempt !== null) {
      const { deleted } = await this.intents.retire(context, id, incarnation, retireAttempt);
      if (deleted) return;
    }
    if (hasToTell(plant)) await this.intents.tell(context, plant);
  }
}
