import { Controller, Inject } from '@nestjs/common';
import { type Availability, type GetAvailability, type ListAvailability, store } from '@plant-shop/contracts/store';
import { Batcher } from '@plant-shop/platform/patterns/batcher';
import { Database, type Statement } from '@plant-shop/platform/postgres/database';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import { STORE_OPTIONS, type StoreOptions } from '../config.js';
import { plantNotFound, type StockState } from './stock.js';

type Shown = Pick<StockState, 'plantId' | 'listing' | 'free' | 'lowStockAt'>;

/** From this number of free units down, plants without a limit of their own are low on stock. */
const lowByDefault = 10;

/**
 * Returns what everybody may know of a plant's stock.
 * @param shownUpTo more free units than these are not shown: the size of a shop's stock is nobody else's business
 */
export function availabilityOf({ plantId, listing, free, lowStockAt }: Shown, shownUpTo: number): Availability {
  if (listing !== 'available') return { plantId, state: 'not-for-sale' };
  const state = free === 0 ? 'out-of-stock' : free <= (lowStockAt ?? lowByDefault) ? 'low-stock' : 'in-stock';
  return { plantId, state, ...(free <= shownUpTo && { units: free }) };
}

const findShown: Statement = {
  name: 'find-availability',
  text: `SELECT plant_id AS "plantId", listing, free, low_stock_at AS "lowStockAt" FROM stock WHERE plant_id = ANY($1) AND listing <> 'retired'`,
};

/** Answers from the row that orders lock, so no answer is older than its request. Concurrent requests share a query. */
@Controller()
export class AvailabilityController {
  private readonly reads: Batcher<readonly number[], Availability[]>;

  constructor(
    private readonly database: Database,
    @Inject(STORE_OPTIONS) private readonly options: Pick<StoreOptions, 'checkout'>,
  ) {
    this.reads = new Batcher({ name: 'read availability', lanes: 2, maxBatch: 128 }, (batch) => this.readAll(batch));
  }

  @Answers(store.getAvailability)
  async getAvailability({ plantId }: GetAvailability): Promise<Availability> {
    const [availability] = await this.reads.submit(plantId, [plantId]);
    if (!availability) throw plantNotFound(plantId);
    return availability;
  }

  @Answers(store.listAvailability)
  async listAvailability({ ids }: ListAvailability): Promise<Availability[]> {
    return this.reads.submit(ids[0] ?? 0, [...new Set(ids)]);
  }

  private async readAll(batch: readonly (readonly number[])[]): Promise<Availability[][]> {
    const rows = await this.database.query<Shown>(findShown, [[...new Set(batch.flat())]]);
    const known = new Map(rows.map((row) => [row.plantId, availabilityOf(row, this.options.checkout.shownUpTo)]));
    return batch.map((ids) => ids.flatMap((id) => known.get(id) ?? []));
  }
}
