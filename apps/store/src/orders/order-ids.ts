import type { Database } from '@plant-shop/platform/postgres/database';
import { drawOrderIds, findTakenIds } from './order-ids.repository.js';

/**
 * Ids for orders without a chosen one, drawn ahead so that a batch needs no round trip for them. A client may take one of them
 * before it is used; the write then collides (`recheck`).
 */
export class OrderIds {
  private free: number[] = [];
  private drawing: Promise<void> | undefined;

  constructor(private readonly database: Database) {}

  /** Returns the next id. @param except ids that orders of the same batch chose */
  async draw(except?: ReadonlySet<number>): Promise<number> {
    for (;;) {
      const id = this.free.shift();
      if (id === undefined) {
        this.drawing ??= this.drawMore().finally(() => (this.drawing = undefined));
        await this.drawing;
      } else if (!except?.has(id)) {
        return id;
      }
    }
  }

  /** Drops the ids that clients have taken since the draw. Call it after a collision. */
  async recheck(): Promise<void> {
    const taken = await findTakenIds(this.database, this.free);
    this.free = this.free.filter((id) => !taken.has(id));
  }

  private async drawMore(): Promise<void> {
    this.free.push(...(await drawOrderIds(this.database, 1)));
  }
}
