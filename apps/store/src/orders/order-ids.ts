import type { Database } from '@plant-shop/platform/postgres/database';
import { drawIdBlock, findTakenIds } from './orders.repository.js';

/**
 * Ids for orders that bring none: blocks from a sequence, so that a batch needs no round trip for them. Clients may have
 * chosen some of a block's ids, before it was drawn or since.
 */
export class OrderIds {
  private free: number[] = [];
  private drawing: Promise<void> | undefined;

  constructor(private readonly database: Database) {}

  async draw(): Promise<number> {
    for (;;) {
      const id = this.free.shift();
      if (id !== undefined) return id;
      this.drawing ??= this.drawBlock().finally(() => (this.drawing = undefined));
      await this.drawing;
    }
  }

  /** Call after a collision: drops what clients chose meanwhile, however much of the block that is. */
  async recheck(): Promise<void> {
    const taken = await findTakenIds(this.database, this.free);
    this.free = this.free.filter((id) => !taken.has(id));
  }

  private async drawBlock(): Promise<void> {
    const block = await drawIdBlock(this.database);
    const taken = await findTakenIds(this.database, block);
    this.free = block.filter((id) => !taken.has(id));
  }
}
