import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/parts.module';
import { foldInventory } from './stock.repository.js';

const batch = 5_000;

/** Keeps the open deltas few, so that reading the inventory costs the same whatever happened before. */
@Injectable()
export class InventoryFolder implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loop: BackgroundLoop;

  constructor(database: Database, @InjectLogger() logger: Logger) {
    this.loop = new BackgroundLoop(
      { name: 'fold inventory', intervalMs: 1_000 },
      async () => (await database.transaction((tx) => foldInventory(tx, batch))) === batch,
      logger,
    );
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }
}
