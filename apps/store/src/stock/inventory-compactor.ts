import { Injectable } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { compactInventory } from './stock.repository.js';

const batch = 5_000;

/** Compacts inventory deltas into the total every second, so that the cost of reading the inventory stays constant. */
@Injectable()
export class InventoryCompactor extends BackgroundLoop {
  constructor(database: Database, @InjectLogger() logger: Logger) {
    super(
      { name: 'compact inventory', intervalMs: 1_000 },
      async () => (await database.transaction((tx) => compactInventory(tx, batch))) === batch,
      logger,
    );
  }
}
