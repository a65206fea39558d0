import { Injectable } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { foldInventory, hasDeltas } from './stock.repository.js';

const batch = 5_000;

/** Keeps the open deltas few, so that reading the inventory costs the same whatever happened before. */
@Injectable()
export class InventoryFolder extends BackgroundLoop {
  constructor(database: Database, @InjectLogger() logger: Logger) {
    super(
      { name: 'fold inventory', intervalMs: 1_000 },
      // Looked at first: the lock to fold under is a write, which waits for the disk.
      async () => (await hasDeltas(database)) && (await database.transaction((tx) => foldInventory(tx, batch))) === batch,
      logger,
    );
  }
}
