import { afterAll, afterEach, beforeAll, expect } from '@jest/globals';
import { catalog, type Plant, type PlantStatus } from '@plant-shop/contracts/catalog';
import { createLogger } from '@plant-shop/platform/logging';
import { until } from '@plant-shop/testing/until';
import { CatalogFixture, outcomeOf } from '../catalog.spec.fixture.js';
import { loseAnswer, type StockRow } from '../store.fake.js';
import { StockIntentsService } from './stock-intents.service.js';

/** Call budget in milliseconds, shorter than that of the catalog's own calls: a lost answer exceeds it. */
export const shortBudgetMs = 400;

/** Two replicas of the catalog with a fake store. After each test, checks that catalog and store agree. */
export class StockSyncFixture {
  shop!: CatalogFixture;
  private intents!: StockIntentsService;
  private lastId = 0;

  /** Sets the fixture up for all tests of the enclosing `describe`. */
  static forSuite(): StockSyncFixture {
    const plants = new StockSyncFixture();
    beforeAll(async () => {
      const shop = await CatalogFixture.start({ replicas: 2 });
      plants.shop = shop;
      plants.intents = new StockIntentsService(shop.database, shop.caller.clientOf('catalog'), createLogger('test', 'fatal'));
    });
    afterAll(() => plants.shop.stop());
    afterEach(async () => {
      await plants.settle();
      expect(await plants.shop.disagreements()).toEqual([]);
    });
    return plants;
  }

  async hasNoIntents(): Promise<boolean> {
    return (await this.shop.database.query('SELECT 1 FROM stock_intents')).length === 0;
  }

  /** Processes all intents as the replicas' loops do, but without pauses. */
  settle(): Promise<void> {
    return until(async () => (await this.hasNoIntents()) || (await this.intents.resumeDue()) || this.hasNoIntents(), 20_000);
  }

  newId(): number {
    return ++this.lastId;
  }

  /**
   * Makes a change of a plant, created before unless the change opens its stock, whose answer from the store is lost. If its budget ends before
   * the store has the call, as on a busy machine, no answer was lost: then again, with another plant and a longer budget.
   * @returns the plant's id
   */
  async losingAnswer(operation: 'openStock' | 'listStock' | 'retirePlant', change: (id: number, budgetMs: number) => Promise<unknown>): Promise<number> {
    for (let budgetMs = shortBudgetMs; budgetMs < 10_000; budgetMs *= 4) {
      const id = this.newId();
      if (operation !== 'openStock') await this.create(id);
      this.shop.store.interceptNext(operation, loseAnswer);
      const outcome = await outcomeOf(change(id, budgetMs));
      if (this.callsFor(id).includes(operation)) {
        expect(outcome).toBe('outcome-unknown');
        return id;
      }
      this.shop.store.clearInterceptors();
      await this.settle();
    }
    throw new Error(`the store never got the call ${operation}`);
  }

  create(id: number, units?: number, budgetMs?: number): Promise<Plant> {
    const plant = { id, name: 'Ficus', ...(units !== undefined && { quantity: units }) };
    return this.shop.caller.call(catalog.createPlant, { plant }, undefined, budgetMs);
  }

  change(id: number, to: { status?: PlantStatus; name?: string }, budgetMs?: number): Promise<Plant> {
    return this.shop.caller.call(catalog.changePlant, { plantId: id, ...to }, undefined, budgetMs);
  }

  remove(id: number, budgetMs?: number): Promise<{ plantId: number }> {
    return this.shop.caller.call(catalog.deletePlant, { plantId: id }, undefined, budgetMs);
  }

  get(id: number): Promise<Plant> {
    return this.shop.caller.call(catalog.getPlant, { plantId: id });
  }

  /** The store's row for a plant. */
  stockOf(id: number): StockRow | undefined {
    return this.shop.store.stock.get(id);
  }

  /** The operations with which the store was called for a plant. */
  callsFor(id: number): string[] {
    return this.shop.store.calls.filter((call) => call.endsWith(` ${id}`)).map((call) => call.slice(0, call.indexOf(' ')));
  }
}
