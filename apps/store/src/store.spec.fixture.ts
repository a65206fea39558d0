import { catalog, type ResolvedPlants } from '@plant-shop/contracts/catalog';
import { DomainError } from '@plant-shop/contracts/errors';
import { identity } from '@plant-shop/contracts/identity';
import { permissions } from '@plant-shop/contracts/permissions';
import { store } from '@plant-shop/contracts/store';
import type { Principal } from '@plant-shop/platform/rpc/context';
import { createLogger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { Service } from '@plant-shop/platform/service/service';
import { CrashTestbed } from '@plant-shop/service-testing/crash/every-point';
import { createDatabase, giveClock } from '@plant-shop/service-testing/postgres';
import { fake, startFake, startService, TestCaller, testConfig } from '@plant-shop/service-testing/service';
import { startNats, type TestNats } from '@plant-shop/testing/nats';
import type { TestDatabase } from '@plant-shop/testing/postgres';
import { until } from '@plant-shop/testing/until';
import pg from 'pg';
import { migrationsFolder, type StoreConfig, storeDatabase } from './config.js';
import { OrdersService } from './orders/orders.service.js';
import { startStore } from './store.module.js';

const waitsForLock = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;

const user = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

/** Returns a principal with a customer's permissions. Equal numbers are the same user. */
export const customer = (n: number): Principal => ({ subject: user(n), permissions: ['write:orders'], shown: ['session'] });
export const staff: Principal = { subject: user(999_999), permissions: [...permissions], shown: ['session'] };

interface FixtureOptions extends Partial<StoreConfig> {
  readonly replicas?: number;
  readonly hasOwnClock?: boolean;
  /** The users that searches find. */
  readonly usernames?: readonly number[];
  /** What the catalog answers about the plants of orders. Default: they were all deleted. */
  readonly resolvePlants?: (plantIds: readonly number[]) => ResolvedPlants;
}
const noPlants = (): ResolvedPlants => ({ plants: [], left: [] });

/** The store, with one or more replicas, on real Postgres and NATS, and a fake identity service. */
export class StoreFixture {
  private plants = 0;

  private constructor(
    readonly nats: TestNats,
    private readonly testDatabase: TestDatabase,
    readonly replicas: Service[],
    readonly caller: TestCaller,
    readonly sql: pg.Pool,
    private readonly fakes: readonly { stop: () => Promise<void> }[],
    /** Usernames that identity no longer knows, as after a deletion or a renaming. */
    readonly forgottenUsernames: Set<string>,
    private readonly config: StoreConfig,
    /** Sets the database's clock, in seconds ahead of the real one. Only with `hasOwnClock`. */
    readonly setClock: (secondsAhead: number) => Promise<void>,
  ) {}

  static async start({ replicas = 1, hasOwnClock = false, usernames = [], resolvePlants = noPlants, ...given }: FixtureOptions = {}): Promise<StoreFixture> {
    const nats = await startNats();
    const database = await createDatabase(migrationsFolder);
    const config: StoreConfig = {
      ...testConfig(nats.url),
      databaseUrl: database.serviceUrl,
      databaseCa: '',
      sandbox: false,
      databasePoolSize: 16,
      initialStock: 100,
      orderTtlMs: 3_600_000,
      paymentProvider: 'external',
      simulatedApprovalDelayMs: 0,
      simulatedDeliveryDelayMs: 0,
      unpaidOrders: 1_000_000,
      unpaidUnits: 1_000_000_000,
      availabilityShownUpTo: 10,
      feedRetentionDays: 7,
      feedAbsenceDays: 30,
      archiveAfterDays: 0,
      placingLanes: 4,
      maxInFlight: 5_000,
      ...given,
    };
    const sql = new pg.Pool({ connectionString: database.url, max: 4 });
    await sql.query('UPDATE database_mode SET sandbox = $1', [config.sandbox]);
    const setClock = hasOwnClock ? await giveClock(sql) : () => Promise.reject(new Error('start the fixture with hasOwnClock'));
    const services = await Promise.all(
      Array.from({ length: replicas }, () => startService('store', nats.url, (service) => startStore(service, config))),
    );
    const forgottenUsernames = new Set<string>();
    // The username of customer 7 is `user-7`.
    const fakeIdentity = await startFake(nats.url, 'identity', [
      fake(identity.resolveUsername, ({ username }) => {
        if (forgottenUsernames.has(username)) throw new DomainError('user-not-found', `There is no user ${username}.`);
        return { userId: user(Number(/^user-(\d+)$/.exec(username)?.[1] ?? 0)) };
      }),
      fake(identity.findUserIds, ({ q }) => ({ userIds: usernames.filter((n) => `user-${n}`.startsWith(q)).map(user) })),
      fake(identity.resolveOAuthClients, ({ clientIds }) => clientIds.filter((clientId) => clientId !== 'deleted').map((clientId) => ({ clientId, name: `App ${clientId}` }))),
      fake(identity.resolveUserIds, ({ userIds }) => userIds.map((userId) => ({ userId, username: `user-${Number(userId.slice(-12))}` }))),
    ]);
    // `end` resolves before the pool's connections have closed; `disconnect` then terminates them with an error.
    sql.on('error', () => undefined);
    const fakeCatalog = await startFake(nats.url, 'catalog', [fake(catalog.resolvePlants, ({ plantIds }) => resolvePlants(plantIds))]);
    const fakes = [fakeIdentity, fakeCatalog];
    return new StoreFixture(nats, database, services, await TestCaller.connect(nats.url), sql, fakes, forgottenUsernames, config, setClock);
  }

  async addReplica(): Promise<void> {
    this.replicas.push(await startService('store', this.nats.url, (service) => startStore(service, this.config)));
  }

  /** Adds a replica and returns its service, for tests that depend on the turn of the event loop in which orders arrive. */
  async ordersService(): Promise<OrdersService> {
    const service = await Service.embedded('store', testConfig(this.nats.url));
    this.replicas.push(service);
    return (await startStore(service, this.config)).get(OrdersService);
  }

  /** For tests that crash replicas. The test must stop the testbed. */
  crashTestbed(): Promise<CrashTestbed> {
    return CrashTestbed.start('store', this.nats.url, (service) => startStore(service, this.config));
  }

  /** A connection for tests that call functions with a transaction. The test must close it. */
  database(): Promise<Database> {
    return Database.connect(storeDatabase(this.config, 1), createLogger('store', 'warn'));
  }

  /** Creates a plant that is listed available. */
  async plant(units = 100): Promise<number> {
    const plantId = ++this.plants;
    await this.caller.call(store.openStock, { plantId, incarnation: 1, version: 1, status: 'available', units });
    return plantId;
  }

  async rows<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.sql.query<Row>(text, values)).rows;
  }

  /**
   * Locks a row while `work` runs, so that the store waits for it.
   * @param work its argument resolves when at least so many of the store's connections wait for a lock
   */
  async holding<T>(row: string, values: unknown[], work: (waiting: (connections: number) => Promise<void>) => Promise<T>): Promise<T> {
    const holder = await this.sql.connect();
    try {
      await holder.query('BEGIN');
      await holder.query(`${row} FOR UPDATE`, values);
      return await work((connections) => until(async () => (await this.rows(waitsForLock)).length >= connections));
    } finally {
      await holder.query('ROLLBACK');
      holder.release();
    }
  }

  /** Returns violations of the invariants that must hold at any instant. */
  violations(): Promise<Record<string, unknown>[]> {
    return this.rows(`
      SELECT 'reserved is not the sum of placed orders' AS what, s.plant_id FROM stock s
      WHERE s.reserved <> (SELECT coalesce(sum(quantity), 0) FROM orders o WHERE o.plant_id = s.plant_id AND o.status = 'placed')
      UNION ALL
      SELECT 'sold is not the sum of approved and delivered orders', s.plant_id FROM stock s
      WHERE s.sold <> (SELECT coalesce(sum(quantity), 0) FROM orders o
                       WHERE o.plant_id = s.plant_id AND o.status IN ('approved', 'delivered'))
      UNION ALL
      SELECT 'units were lost or created', plant_id FROM stock WHERE free + reserved + sold + written_off <> supplied
      UNION ALL
      SELECT 'an order without all of its transitions', id FROM orders o
      WHERE version <> (SELECT count(*) FROM order_transitions t WHERE t.order_id = o.id)
      UNION ALL
      SELECT 'the inventory is not the sum of the stock', 0 FROM inventory_total total,
        (SELECT coalesce(sum(available), 0) AS available, coalesce(sum(pending), 0) AS pending, coalesce(sum(sold), 0) AS sold FROM inventory_deltas) delta,
        (SELECT coalesce(sum(free) FILTER (WHERE listing = 'available'), 0) AS available,
                coalesce(sum(reserved) + sum(CASE WHEN listing = 'pending' THEN free ELSE 0 END), 0) AS pending,
                coalesce(sum(sold) + sum(CASE WHEN listing = 'sold' THEN free ELSE 0 END), 0) AS sold FROM stock) units
      WHERE (total.available + delta.available, total.pending + delta.pending, total.sold + delta.sold) <> (units.available, units.pending, units.sold)
      UNION ALL
      SELECT 'an open order of a retired plant', o.id FROM orders o JOIN stock s USING (plant_id)
      WHERE o.status IN ('placed', 'approved') AND s.listing = 'retired'
      UNION ALL
      SELECT 'an open order of a closed customer', o.id FROM orders o JOIN customers c ON c.user_id = o.owner_id
      WHERE o.status IN ('placed', 'approved') AND c.closed`);
  }

  async stop(): Promise<void> {
    await this.caller.close();
    await this.sql.end();
    await Promise.all(this.replicas.map((service) => service.stop()));
    await Promise.all(this.fakes.map((one) => one.stop()));
    await this.testDatabase.disconnect();
    await this.nats.stop();
  }
}

/** Returns `placed`, or the error code. */
export async function outcomeOf(placing: Promise<unknown>): Promise<string> {
  try {
    await placing;
    return 'placed';
  } catch (error) {
    return (error as { code: string }).code;
  }
}
