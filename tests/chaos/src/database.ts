import pg from 'pg';
import type { FinalOrder, FinalState, SeenEvent, Snapshot } from './history.js';
import { now } from './clock.js';

type Name = 'store' | 'notifications' | 'postgres' | 'identity' | 'catalog';

pg.types.setTypeParser(pg.types.builtins.INT8, Number);
pg.types.setTypeParser(pg.types.builtins.NUMERIC, Number);

/** The databases of the shop, looked at past everything that a fault is in. */
export class Databases {
  /** @param adminUrl after a failover it is another one */
  constructor(private readonly adminUrl: () => string) {}

  async in<T>(name: Name, work: (client: pg.Client) => Promise<T>): Promise<T> {
    const url = new URL(this.adminUrl());
    url.pathname = `/${name}`;
    const client = new pg.Client({ connectionString: url.href, connectionTimeoutMillis: 2_000, query_timeout: 20_000 });
    // A server that goes away breaks the query under way, which says so itself.
    client.on('error', () => undefined);
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  /** The store at one instant, as far as it is about these plants. */
  snapshot(plantIds: readonly number[]): Promise<Snapshot> {
    return this.in('store', async (client) => {
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      const plants = await client.query<Snapshot['plants'][number]>(
        `SELECT plant_id AS "plantId", free, reserved, sold, coalesce(placed, 0) AS placed, coalesce(taken, 0) AS taken
         FROM stock LEFT JOIN (
           SELECT plant_id, sum(quantity) FILTER (WHERE status = 'placed') AS placed,
             sum(quantity) FILTER (WHERE status IN ('approved', 'delivered')) AS taken
           FROM orders WHERE plant_id = ANY($1) GROUP BY plant_id
         ) AS held USING (plant_id)
         WHERE plant_id = ANY($1)`,
        [plantIds],
      );
      const drift = await client.query<Snapshot['inventoryDrift']>(
        `SELECT t.available + d.available - s.available AS available, t.pending + d.pending - s.pending AS pending,
           t.sold + d.sold - s.sold AS sold
         FROM inventory_total t,
           (SELECT coalesce(sum(available), 0) AS available, coalesce(sum(pending), 0) AS pending, coalesce(sum(sold), 0) AS sold
            FROM inventory_deltas) d,
           (SELECT coalesce(sum(free) FILTER (WHERE listing = 'available'), 0) AS available,
              coalesce(sum(reserved), 0) + coalesce(sum(free) FILTER (WHERE listing = 'pending'), 0) AS pending,
              coalesce(sum(sold), 0) + coalesce(sum(free) FILTER (WHERE listing = 'sold'), 0) AS sold FROM stock) s`,
      );
      const orphans = await client.query<{ id: number }>(
        `SELECT o.id FROM orders o LEFT JOIN customers c ON c.user_id = o.owner_id LEFT JOIN stock s ON s.plant_id = o.plant_id
         WHERE o.status IN ('placed', 'approved') AND (c.closed OR s.listing = 'retired')`,
      );
      const [inventoryDrift] = drift.rows;
      if (!inventoryDrift) throw new Error('there is no inventory');
      return { at: now(), plants: plants.rows, inventoryDrift, orphans: orphans.rows.map(({ id }) => id) };
    });
  }

  /** What the databases hold of these plants' orders. */
  async final(plantIds: readonly number[]): Promise<Pick<FinalState, 'orders' | 'payments' | 'log'>> {
    const store = await this.in('store', async (client) => {
      const orders = await client.query<FinalOrder>(
        `SELECT o.id, o.plant_id AS "plantId", o.quantity, o.status, o.version, coalesce(t.transitions, '[]') AS transitions
         FROM orders o LEFT JOIN LATERAL (
           SELECT json_agg(json_build_object('version', order_version, 'previousStatus', previous_status,
             'newStatus', new_status, 'eventId', event_id) ORDER BY order_version) AS transitions
           FROM order_transitions WHERE order_id = o.id
         ) t ON true
         WHERE o.plant_id = ANY($1)`,
        [plantIds],
      );
      const payments = await client.query<{ orderId: number; reference: string }>(
        'SELECT order_id AS "orderId", reference FROM payments JOIN orders ON orders.id = order_id WHERE plant_id = ANY($1)',
        [plantIds],
      );
      return { orders: orders.rows, payments: payments.rows };
    });
    const log = await this.in('notifications', async (client) =>
      (await client.query<SeenEvent>('SELECT event_id AS id, body FROM event_log WHERE NOT repeats ORDER BY seq')).rows);
    return { ...store, log };
  }

  /** What a backup is: the store's database as it is now, put aside. Nobody else may be connected. */
  async backUpStore(): Promise<void> {
    await this.in('postgres', async (client) => {
      await client.query('CREATE DATABASE store_backup TEMPLATE store OWNER store');
    });
  }

  /** All that the store wrote since `backUpStore` is lost. */
  async setStoreBack(): Promise<void> {
    await this.in('postgres', async (client) => {
      await client.query('DROP DATABASE store WITH (FORCE)');
      await client.query('ALTER DATABASE store_backup RENAME TO store');
    });
  }

  /** Makes Postgres ask its disk for a new WAL segment, for as long as it gets one: it keeps some in reserve. */
  async useUpWal(): Promise<void> {
    for (let n = 0; n < 50; n++) {
      try {
        await this.in('postgres', (client) => client.query('SELECT pg_logical_emit_message(false, $1, $2), pg_switch_wal()', ['chaos', 'x']));
      } catch {
        // The disk is full, and Postgres is down with it.
        return;
      }
    }
  }

  /** What is still on its way: events without a number, or beyond the log, and webhook deliveries, made or not; and how many events these plants' orders have. */
  async underWay(plantIds: readonly number[]): Promise<Record<'unnumbered' | 'head' | 'logged' | 'deliveries' | 'intents' | 'events', number>> {
    const one = async (name: Name, text: string, values: readonly unknown[] = []): Promise<number> =>
      this.in(name, async (client) => (await client.query<{ n: number }>(text, [...values])).rows[0]?.n ?? 0);
    const [unnumbered, head, logged, deliveries, intents, events] = await Promise.all([
      one('store', 'SELECT count(*) AS n FROM order_transitions WHERE feed_seq IS NULL AND event_id IS NOT NULL'),
      one('store', 'SELECT head AS n FROM feed_head'),
      one('notifications', 'SELECT watermark AS n FROM feed_watermark'),
      one('notifications', `SELECT (SELECT count(*) FROM webhook_deliveries WHERE state = 'pending') + f.watermark - m.watermark + (
          SELECT coalesce(sum(f.watermark - c.watermark), 0)::bigint FROM webhook_cursors c JOIN webhooks w ON w.id = c.webhook_id WHERE w.state <> 'deleted') AS n
        FROM feed_watermark f, webhook_watermark m`),
      one('catalog', 'SELECT count(*) AS n FROM stock_intents'),
      one('store', `SELECT count(event_id) AS n FROM order_transitions JOIN orders ON orders.id = order_id WHERE plant_id = ANY($1)`, [plantIds]),
    ]);
    return { unnumbered, head, logged, deliveries, intents, events };
  }
}
