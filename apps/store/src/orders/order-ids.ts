import { CodedError, unavailable } from '@plant-shop/platform/errors';
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

  /** Returns the next ids. @param except ids that orders of the same batch chose */
  async draw(count: number, except: ReadonlySet<number>): Promise<number[]> {
    const ids: number[] = [];
    while (ids.length < count) {
      if (this.free.length === 0) {
        this.drawing ??= this.drawMore().finally(() => (this.drawing = undefined));
        await this.drawing;
      }
      for (const id of this.free.splice(0, count - ids.length)) if (!except.has(id)) ids.push(id);
    }
    return ids;
  }

  /** Drops the ids that clients have taken since the draw. Call it after a collision. */
  async recheck(): Promise<void> {
    const taken = await findTakenIds(this.database, this.free);
    this.free = this.free.filter((id) => !taken.has(id));
  }

  /** @throws CodedError `unavailable` also if the connection is lost during the draw: it may have used up ids, but no order was begun */
  private async drawMore(): Promise<void> {
    try {
      this.free.push(...(await drawOrderIds(this.database, 1)));
    } catch (error) {
      const isLost = error instanceof CodedError && error.code === 'outcome-unknown';
      throw isLost ? unavailable('The database', error) : error;
    }
  }
}
