import { catalog, type NewPlant, type Plant } from '@plant-shop/contracts/catalog';
import { CodedError } from '@plant-shop/platform/errors';
import { createLogger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import type { RawAnswer } from '@plant-shop/platform/rpc/client';
import type { Operation } from '@plant-shop/platform/rpc/operation';
import type { Service } from '@plant-shop/platform/service/service';
import { type TestNats, startNats } from '@plant-shop/testing/nats';
import { createDatabase, type TestDatabase } from '@plant-shop/testing/postgres';
import { contextFor, startService, TestCaller } from '@plant-shop/testing/service';
import { catalogDatabase, migrationsFolder } from './database.js';
import { startCatalog } from './start.js';
import { FakeStore } from './store.fake.js';

/** The catalog on real Postgres and NATS, beside a store of which only the inside is made up. */
export class CatalogHarness {
  private constructor(
    private readonly nats: TestNats,
    private readonly testDatabase: TestDatabase,
    private readonly services: readonly Service[],
    readonly database: Database,
    readonly store: FakeStore,
    readonly caller: TestCaller,
  ) {}

  static async start({ replicas = 1 }: { replicas?: number } = {}): Promise<CatalogHarness> {
    const [nats, testDatabase] = await Promise.all([startNats(), createDatabase(migrationsFolder)]);
    const store = new FakeStore(nats.url);
    await store.start();
    const services = await Promise.all(
      Array.from({ length: replicas }, () =>
        startService('catalog', nats.url, (service) =>
          startCatalog(service, { databaseUrl: testDatabase.url, publicUrl: 'https://shop.test', maxInFlight: 500 }),
        ),
      ),
    );
    const database = await Database.connect(catalogDatabase(testDatabase.url, 4), createLogger('test', 'fatal'));
    return new CatalogHarness(nats, testDatabase, services, database, store, await TestCaller.connect(nats.url));
  }

  async stop(): Promise<void> {
    await this.caller.close();
    await Promise.all(this.services.map((service) => service.stop()));
    await this.store.stop();
    await this.database.close();
    await this.testDatabase.drop();
    await this.nats.stop();
  }

  /** A plant with only what the test cares about. */
  create(plant: Partial<NewPlant> = {}): Promise<Plant> {
    return this.caller.call(catalog.createPlant, { plant: { name: 'Monstera', ...plant } });
  }

  /** Plants of which catalog and store think differently, once nothing is left to be told. */
  async disagreements(): Promise<unknown[]> {
    const plants = await this.database.query<{ id: number; incarnation: number; status: string }>(
      'SELECT id, incarnation, status FROM plants',
    );
    const known = new Map(plants.map((plant) => [plant.id, plant]));
    const missing = plants.filter(({ id }) => !this.store.shelves.has(id));
    const different = [...this.store.shelves].flatMap(([id, shelf]) => {
      const plant = known.get(id);
      const agrees = plant
        ? plant.incarnation === shelf.incarnation && plant.status === shelf.listing
        : shelf.listing === 'retired';
      return agrees ? [] : [{ id, plant, shelf }];
    });
    return [...missing, ...different];
  }

  /** The plant with its version, or one page of a list with its cursor: what travels beside an answer. */
  raw(operation: Operation<unknown, unknown>, payload: unknown): Promise<RawAnswer> {
    return this.caller.client.callRaw(operation, payload, contextFor());
  }
}

/** The answer's value, or the code of its error: what a caller can tell apart. */
export async function outcomeOf(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof CodedError) return error.code;
    throw error;
  }
}
