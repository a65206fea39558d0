import { afterAll, afterEach, beforeAll, expect } from '@jest/globals';
import { catalog, type Plant, type PlantStatus } from '@plant-shop/contracts/catalog';
import { createLogger } from '@plant-shop/platform/logging';
import { until } from '@plant-shop/testing/until';
import { CatalogHarness } from '../catalog.spec.fixture.js';
import type { Shelf } from '../store.fake.js';
import { goOnWithIntents } from './stock-intents.loop.js';
import { StockIntentsService } from './stock-intents.service.js';

/** Less than the catalog's own calls get: what does not come in this time is lost. */
export const hurried = 400;

/** Plants of two replicas of the catalog, and what the store was told of them. After each test both agree. */
export class ToldPlants {
  shop!: CatalogHarness;
  private goOn!: () => Promise<boolean>;
  private lastId = 0;

  /** For all tests of the `describe` that it is called in. */
  static ofEachTest(): ToldPlants {
    const plants = new ToldPlants();
    beforeAll(async () => {
      const shop = await CatalogHarness.start({ replicas: 2 });
      const logger = createLogger('test', 'fatal');
      const intents = new StockIntentsService(shop.database, shop.caller.client, logger);
      plants.shop = shop;
      plants.goOn = () => goOnWithIntents(shop.database, intents, logger);
    });
    afterAll(() => plants.shop.stop());
    afterEach(async () => {
      await plants.settled();
      expect(await plants.shop.disagreements()).toEqual([]);
    });
    return plants;
  }

  async nothingLeft(): Promise<boolean> {
    return (await this.shop.database.query('SELECT 1 FROM stock_intents')).length === 0;
  }

  /** Like the loops of the replicas, but without their pauses. */
  settled(): Promise<void> {
    return until(async () => (await this.nothingLeft()) || (await this.goOn()) || this.nothingLeft(), 20_000);
  }

  newId(): number {
    return ++this.lastId;
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

  /** What the store has of a plant. */
  shelf(id: number): Shelf | undefined {
    return this.shop.store.shelves.get(id);
  }

  /** The operations that the store was called with for a plant. */
  callsFor(id: number): string[] {
    return this.shop.store.calls.filter((call) => call.endsWith(` ${id}`)).map((call) => call.slice(0, call.indexOf(' ')));
  }
}
