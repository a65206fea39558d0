import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { catalog, type NewPlant, type Plant } from '@plant-shop/contracts/catalog';
import { readConfig } from '@plant-shop/platform/config';
import { CodedError } from '@plant-shop/platform/errors';
import { createLogger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import type { RawAnswer } from '@plant-shop/platform/rpc/client';
import type { Operation } from '@plant-shop/platform/rpc/operation';
import type { Service } from '@plant-shop/platform/service/service';
import { CrashTestbed } from '@plant-shop/service-testing/crash/every-point';
import { createDatabase } from '@plant-shop/service-testing/postgres';
import { contextFor, startService, TestCaller } from '@plant-shop/service-testing/service';
import { type TestNats, startNats } from '@plant-shop/testing/nats';
import type { TestDatabase } from '@plant-shop/testing/postgres';
import { until } from '@plant-shop/testing/until';
import { type CatalogConfig, catalogDatabase, catalogSettings, migrationsFolder } from './config.js';
import { startCatalog } from './catalog.module.js';
import { FakeStore } from './store.fake.js';

export interface FixtureOptions {
  readonly replicas?: number;
  /** Settings that differ from the defaults. */
  readonly environment?: NodeJS.ProcessEnv;
}

/** The catalog on real Postgres and NATS, with a fake store that answers over real NATS. */
export class CatalogFixture {
  private readonly services: Service[] = [];
  private readonly processes: ChildProcess[] = [];

  private constructor(
    private readonly nats: TestNats,
    private readonly testDatabase: TestDatabase,
    readonly environment: NodeJS.ProcessEnv,
    readonly database: Database,
    readonly store: FakeStore,
    readonly caller: TestCaller,
  ) {}

  static async start({ replicas = 1, environment = {} }: FixtureOptions = {}): Promise<CatalogFixture> {
    const [nats, testDatabase] = await Promise.all([startNats(), createDatabase(migrationsFolder)]);
    const store = new FakeStore(nats.url);
    await store.start();
    const shop = new CatalogFixture(
      nats,
      testDatabase,
      {
        NODE_ENV: 'test',
        LOG_LEVEL: 'error',
        NATS_URL: nats.url,
        OPS_PORT: '0',
        CATALOG_DATABASE_URL: testDatabase.serviceUrl,
        PUBLIC_URL: 'https://shop.test',
        ...environment,
      },
      await Database.connect(catalogDatabase({ databaseUrl: testDatabase.url, databaseCa: '', sandbox: false }, 4), createLogger('test', 'fatal')),
      store,
      await TestCaller.connect(nats.url),
    );
    await Promise.all(Array.from({ length: replicas }, () => shop.startReplica()));
    return shop;
  }

  /** Adds a replica inside the test's process. */
  async startReplica(environment: NodeJS.ProcessEnv = {}): Promise<void> {
    const config = this.configFor(environment);
    this.services.push(await startService('catalog', this.nats.url, (service) => startCatalog(service, config)));
  }

  /** Replaces all replicas by one with other settings. */
  async restart(environment: NodeJS.ProcessEnv): Promise<void> {
    await Promise.all(this.services.splice(0).map((service) => service.stop()));
    await this.startReplica(environment);
  }

  /** For tests that crash replicas. The test must stop the testbed. */
  crashTestbed(): Promise<CrashTestbed> {
    return CrashTestbed.start('catalog', this.nats.url, (service) => startCatalog(service, this.configFor()));
  }

  /** Adds a replica in a separate process, which can be killed. */
  async startProcess(): Promise<ChildProcess> {
    const main = fileURLToPath(new URL('../dist/main.js', import.meta.url));
    const started = spawn(process.execPath, [main], { env: this.environment, stdio: 'inherit' });
    this.processes.push(started);
    const get = () => outcomeOf(this.caller.call(catalog.getPlant, { plantId: 404 }));
    await until(async () => (await get()) === 'plant-not-found');
    return started;
  }

  configFor(environment: NodeJS.ProcessEnv = {}): CatalogConfig {
    return readConfig(catalogSettings, { ...this.environment, ...environment });
  }

  async stop(): Promise<void> {
    await this.caller.close();
    await Promise.all(this.processes.map(kill));
    await Promise.all(this.services.map((service) => service.stop()));
    await this.store.stop();
    await this.database.close();
    await this.testDatabase.disconnect();
    await this.nats.stop();
  }

  /** Creates a plant with defaults for what the test does not set. */
  create(plant: Partial<NewPlant> = {}): Promise<Plant> {
    return this.caller.call(catalog.createPlant, { plant: { name: 'Monstera', ...plant } });
  }

  /** Returns the plants on which catalog and store differ. Call it when no intents are pending. */
  async disagreements(): Promise<unknown[]> {
    const plants = await this.database.query<{ id: number; incarnation: number; status: string }>(
      'SELECT id, incarnation, status FROM plants',
    );
    const known = new Map(plants.map((plant) => [plant.id, plant]));
    const missing = plants.filter(({ id }) => !this.store.stock.has(id));
    const different = [...this.store.stock].flatMap(([id, row]) => {
      const plant = known.get(id);
      const agrees = plant
        ? plant.incarnation === row.incarnation && plant.status === row.listing
        : row.listing === 'retired';
      return agrees ? [] : [{ id, plant, row }];
    });
    return [...missing, ...different];
  }

  /** Calls an operation with an Idempotency-Key. The result says whether the answer is a replay. */
  async keyed<Payload, Answer>(
    operation: Operation<Payload, Answer>,
    payload: Payload,
    { key, user = 'user-1', budgetMs }: { key: string; user?: string; budgetMs?: number },
  ): Promise<Keyed<Answer>> {
    const context = contextFor({ subject: user, permissions: [], shown: [] }, budgetMs);
    const answer = await this.caller.client.callRaw(operation, payload, context, key);
    const { replayed = false, version } = answer;
    return { answer: JSON.parse(Buffer.from(answer.payload).toString()) as Answer, replayed, version };
  }

  /** Calls an operation and returns the raw answer, with its version, cursor or catalogue version. */
  raw(operation: Operation<unknown, unknown>, payload: unknown): Promise<RawAnswer> {
    return this.caller.client.callRaw(operation, payload, contextFor());
  }
}

export interface Keyed<Answer> {
  readonly answer: Answer;
  readonly replayed: boolean;
  readonly version: number | undefined;
}

/** Kills a process, as a crash does, and waits for its exit. */
export async function kill(running: ChildProcess): Promise<void> {
  if (running.exitCode !== null || running.signalCode !== null) return;
  const gone = once(running, 'exit');
  running.kill('SIGKILL');
  await gone;
}

/** Returns the answer, or the code of its error. */
export async function outcomeOf(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof CodedError) return error.code;
    throw error;
  }
}
