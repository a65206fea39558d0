import pg from 'pg';
import { type ShopRequest, type Call, type EventType, eventTypeOf, type FinalOrder, type FinalState, type OrderStatus, type SeenEvent, type Snapshot, type Resource, type Transition } from './history.js';
import { now } from './clock.js';

type Name = 'store' | 'notifications' | 'postgres' | 'identity' | 'catalog';

/** Of these clients alone: the services' own have another one for bigint. */
const types = new pg.TypeOverrides();
types.setTypeParser(pg.types.builtins.INT8, Number);
types.setTypeParser(pg.types.builtins.NUMERIC, Number);

/** An order as stored: times by the database's clock, and owners as internal user ids. */
type StoredOrder = Omit<FinalOrder, 'transitions'> & { readonly transitions: readonly (Omit<Transition, 'owner'> & { readonly owner: string })[] };

/** Queries that find resources by their marks, with one row for each creation. */
const resourceQueries: Readonly<Record<Resource, { readonly name: Name; readonly text: string }>> = {
  plant: { name: 'catalog', text: 'SELECT name AS mark FROM plants WHERE name = ANY($1)' },
  user: { name: 'identity', text: 'SELECT username AS mark FROM users WHERE username = ANY($1)' },
  // A key created by a rotation has the name of the key that it replaces.
  'API key': { name: 'identity', text: 'SELECT name AS mark FROM api_keys k WHERE name = ANY($1) AND NOT EXISTS (SELECT 1 FROM api_keys o WHERE o.successor_id = k.id)' },
  'API key rotation': { name: 'identity', text: `SELECT k.name AS mark FROM api_keys k JOIN api_keys o ON o.successor_id = k.id WHERE k.name = ANY($1)` },
  'OAuth client': { name: 'identity', text: 'SELECT name AS mark FROM oauth_clients WHERE name = ANY($1)' },
  webhook: { name: 'notifications', text: 'SELECT description AS mark FROM webhooks WHERE description = ANY($1)' },
  // The first secret was created with the endpoint.
  'webhook secret': { name: 'notifications', text: 'SELECT description AS mark FROM webhook_secrets s JOIN webhooks w ON w.id = s.webhook_id WHERE description = ANY($1) AND s.id > (SELECT min(id) FROM webhook_secrets f WHERE f.webhook_id = w.id)' },
  'webhook test': { name: 'notifications', text: 'SELECT description AS mark FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id WHERE description = ANY($1) AND d.seq IS NULL' },
};

/** Calls that write no audit entries; they are many, so the audit log is not searched for their ids. */
const unaudited: ReadonlySet<ShopRequest['kind']> = new Set(['place', 'read', 'read-name', 'inventory', 'use']);

/** Direct access to the shop's databases, past the relays that inject faults. */
export class Databases {
  /** @param adminUrl returns the current one; a failover changes it */
  constructor(private readonly adminUrl: () => string) {}

  async in<T>(name: Name, work: (client: pg.Client) => Promise<T>): Promise<T> {
    const url = new URL(this.adminUrl());
    url.pathname = `/${name}`;
    const client = new pg.Client({ connectionString: url.href, connectionTimeoutMillis: 2_000, query_timeout: 20_000, types });
    // If the server goes away, the running query rejects; without a listener this event would end the process.
    client.on('error', () => undefined);
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  /** The store's data about these plants at one instant. */
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
      const split = await client.query<{ id: number }>(
        `SELECT basket_id AS id FROM orders WHERE basket_id IS NOT NULL AND plant_id = ANY($1)
         GROUP BY basket_id HAVING bool_or(status = 'placed') AND bool_or(status <> 'placed')`,
        [plantIds],
      );
      const [inventoryDrift] = drift.rows;
      if (!inventoryDrift) throw new Error('inventory_total has no row');
      return { at: now(), plants: plants.rows, inventoryDrift, orphans: orphans.rows.map(({ id }) => id), splitBaskets: split.rows.map(({ id }) => id) };
    });
  }

  /** Deadlocks in the store's database since its server was started or had crashed. */
  deadlocks(): Promise<number> {
    return this.in('store', async (client) =>
      (await client.query<{ deadlocks: number }>('SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()')).rows[0]?.deadlocks ?? 0);
  }

  /** Ids of all events in the log. */
  loggedEvents(): Promise<ReadonlySet<string>> {
    return this.in('notifications', async (client) => new Set((await client.query<{ id: string }>('SELECT event_id AS id FROM event_log')).rows.map(({ id }) => id)));
  }

  /**
   * Reads what the databases hold about these plants' orders and about the resources that these calls created.
   * @param clients client names by username
   * @param earlier events to leave out of the log
   */
  async final(plantIds: readonly number[], clients: ReadonlyMap<string, string>, calls: readonly Call[], earlier: ReadonlySet<string>): Promise<Pick<FinalState, 'orders' | 'payments' | 'log' | 'epochs' | 'created' | 'audit'>> {
    const accounts = await this.in('identity', async (client) =>
      (await client.query<{ userId: string; username: string }>('SELECT user_id AS "userId", username FROM users WHERE username = ANY($1)', [[...clients.keys()]])).rows);
    const owners = new Map(accounts.map(({ userId, username }) => [userId, clients.get(username) ?? null]));
    const store = await this.in('store', async (client) => {
      const { toMs } = await clockOf(client);
      const orders = await client.query<StoredOrder>(
        `SELECT o.id, o.plant_id AS "plantId", o.quantity, o.status, o.version, coalesce(t.transitions, '[]') AS transitions,
           CASE WHEN b.id IS NOT NULL THEN json_build_object('id', b.id, 'mark', coalesce(b.external_id, '')) END AS basket
         FROM orders o LEFT JOIN baskets b ON b.id = o.basket_id LEFT JOIN LATERAL (
           SELECT json_agg(json_build_object('version', order_version, 'previousStatus', previous_status,
             'newStatus', new_status, 'eventId', event_id, 'at', extract(epoch FROM at) * 1000, 'reason', reason, 'owner', owner_id,
             'actor', CASE WHEN actor = 'store' THEN 'store' WHEN actor = owner_id::text THEN 'owner' ELSE 'staff' END)
             ORDER BY order_version) AS transitions
           FROM order_transitions WHERE order_id = o.id
         ) t ON true
         WHERE o.plant_id = ANY($1)`,
        [plantIds],
      );
      const payments = await client.query<FinalState['payments'][number]>(
        'SELECT order_id AS "orderId", reference, state FROM payments JOIN orders ON orders.id = order_id WHERE plant_id = ANY($1)',
        [plantIds],
      );
      const transition = (step: StoredOrder['transitions'][number]): Transition => ({ ...step, at: toMs(step.at), owner: owners.get(step.owner) ?? null });
      return { orders: orders.rows.map((order) => ({ ...order, transitions: order.transitions.map(transition) })), payments: payments.rows };
    });
    const logged = await this.in('notifications', async (client) =>
      (await client.query<SeenEvent & { repeats: boolean; epoch: string }>(
        `SELECT event_id AS id, body, repeats, (SELECT epoch FROM log_epochs WHERE after_seq < seq ORDER BY after_seq DESC LIMIT 1) AS epoch
         FROM event_log ORDER BY seq`)).rows);
    const log = logged.filter(({ id, repeats }) => !repeats && !earlier.has(id)).map(({ id, body }) => ({ id, body }));
    return { ...store, log, epochs: Map.groupBy(logged, ({ id }) => id), created: await this.created(calls), audit: await this.audit(calls) };
  }

  private async created(calls: readonly Call[]): Promise<FinalState['created']> {
    const marks = Map.groupBy(calls.flatMap(({ request }) => (request.kind === 'create' ? [request] : [])), ({ resource }) => resource);
    const found = await Promise.all([...marks].map(async ([resource, requests]) => {
      const { name, text } = resourceQueries[resource];
      const rows = await this.in(name, async (client) => (await client.query<{ mark: string }>(text, [[...new Set(requests.map(({ mark }) => mark))]])).rows);
      return rows.map(({ mark }) => ({ resource, mark }));
    }));
    return found.flat();
  }

  private async audit(calls: readonly Call[]): Promise<FinalState['audit']> {
    const requestIds = calls.filter(({ request }) => !unaudited.has(request.kind)).map(({ requestId }) => requestId);
    const logs = await Promise.all((['store', 'catalog', 'identity'] as const).map((name) => this.in(name, async (client) =>
      (await client.query<FinalState['audit'][number]>(
        'SELECT operation, request_id AS "requestId" FROM audit_log WHERE request_id = ANY($1)', [requestIds])).rows)));
    return logs.flat();
  }

  /** Makes the store find itself on another server than the one that it numbered events on. */
  async beginEpoch(): Promise<void> {
    await this.in('store', (client) => client.query(`UPDATE feed_head SET timeline = 'another'`));
  }

  /** Copies the store's database, like a backup. There must be no other connection to it. */
  async backUpStore(): Promise<void> {
    await this.in('postgres', async (client) => {
      await client.query('CREATE DATABASE store_backup TEMPLATE store OWNER store');
    });
  }

  /** Replaces the store's database by its backup: everything written since `backUpStore` is lost. */
  async restoreStore(): Promise<void> {
    await this.in('postgres', async (client) => {
      await client.query('DROP DATABASE store WITH (FORCE)');
      await client.query('ALTER DATABASE store_backup RENAME TO store');
    });
  }

  /** Switches WAL segments until Postgres cannot create another one: it has some in reserve. */
  async useUpWal(): Promise<void> {
    for (let n = 0; n < 50; n++) {
      try {
        await this.in('postgres', (client) => client.query('SELECT pg_logical_emit_message(false, $1, $2), pg_switch_wal()', ['chaos', 'x']));
      } catch {
        // The disk is full, and Postgres has stopped because of it.
        return;
      }
    }
  }

  /** Counts what notifications was not told yet about whom mails of orders go to. */
  waitingRecipients(username: string): Promise<number> {
    return this.in('identity', async (client) =>
      (await client.query<{ n: number }>(`SELECT count(*) AS n FROM mail_outbox o JOIN users u USING (user_id) WHERE o.kind = 'recipient' AND u.username = $1`, [username])).rows[0]?.n ?? 0);
  }

  /** Pending work of all services, and the events of these plants' orders. */
  async pendingWork(plantIds: readonly number[]): Promise<{ readonly left: readonly string[]; readonly events: readonly (SeenEvent & { readonly type: EventType })[] }> {
    const counts = await Promise.all(pendingCounts.map(async ({ name, text, what }) => {
      const { n, examples } = await this.in(name, async (client) => (await client.query<{ n: number; examples?: string }>(text)).rows[0] ?? { n: 0 });
      return n > 0 ? [`${n} ${what}${examples === undefined ? '' : `: ${examples}`}`] : [];
    }));
    const [head, logged] = await Promise.all([
      this.in('store', async (client) => (await client.query<{ n: number }>('SELECT head AS n FROM feed_head')).rows[0]?.n ?? 0),
      this.in('notifications', async (client) => (await client.query<{ n: number }>('SELECT watermark AS n FROM feed_watermark')).rows[0]?.n ?? 0),
    ]);
    const steps = await this.in('store', async (client) =>
      (await client.query<SeenEvent & { previousStatus: OrderStatus | null; reason: string }>('SELECT event_id AS id, body, previous_status AS "previousStatus", reason FROM order_transitions JOIN orders ON orders.id = order_id WHERE orders.plant_id = ANY($1) AND event_id IS NOT NULL', [plantIds])).rows);
    return {
      left: [...counts.flat(), ...(logged === head ? [] : [`the log is at ${logged} of ${head}`])],
      events: steps.flatMap(({ id, body, ...step }) => {
        const type = eventTypeOf(step);
        return type ? [{ id, body, type }] : [];
      }),
    };
  }
}

/** Queries that count accepted but unfinished work, by database. `examples` describes some of it. */
const pendingCounts: readonly { readonly name: Name; readonly text: string; readonly what: string }[] = [
  { name: 'store', text: 'SELECT count(*) AS n FROM order_transitions WHERE feed_seq IS NULL AND event_id IS NOT NULL', what: 'events have no number' },
  { name: 'store', text: `SELECT count(*) AS n FROM orders WHERE due_at < now() - interval '2 s'`, what: 'orders are overdue' },
  { name: 'catalog', text: 'SELECT count(*) AS n FROM stock_intents', what: 'intents of the catalog are open' },
  { name: 'identity', text: 'SELECT count(*) AS n FROM user_deletions', what: 'deletions of users are open' },
  { name: 'identity', text: 'SELECT count(*) AS n FROM mail_outbox', what: 'mails and recipients wait in identity' },
  { name: 'notifications', text: 'SELECT f.watermark - m.watermark AS n FROM mail_watermark m, feed_watermark f', what: 'events lack their mails' },
  {
    name: 'notifications',
    text: `SELECT count(*) AS n, array_to_string((array_agg(format('%s after %s attempts, due in %s, %s', kind, attempts, due_at - now(), last_error)))[1:3], '; ') AS examples
      FROM mails WHERE state = 'pending'`,
    what: 'mails are pending',
  },
  // Deliveries are enqueued some time after their events are logged, so zero pending deliveries do not suffice.
  { name: 'notifications', text: 'SELECT f.watermark - w.watermark AS n FROM webhook_watermark w, feed_watermark f', what: 'events lack their webhook deliveries' },
  {
    name: 'notifications',
    text: `SELECT coalesce(sum(f.watermark - c.watermark), 0)::bigint AS n FROM feed_watermark f, webhook_cursors c JOIN webhooks w ON w.id = c.webhook_id WHERE w.state = 'enabled'`,
    what: 'events lack their deliveries to webhooks that see all',
  },
  {
    name: 'notifications',
    text: `SELECT count(*) AS n, array_to_string((array_agg(format('%s attempts to %s, due in %s, the last %s', jsonb_array_length(d.attempts), w.url, d.due_at - now(), d.attempts -> -1)))[1:3], '; ') AS examples
      FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id WHERE d.state = 'pending' AND w.state = 'enabled'`,
    what: 'webhook deliveries are pending',
  },
];

/** Measures the offset of the server's clock. `toMs` converts its times to this process's clock, in milliseconds. */
async function clockOf(client: pg.Client): Promise<{ toMs: (epochMs: number) => number }> {
  const before = now();
  const { rows } = await client.query<{ at: number }>('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS at');
  const offset = (rows[0]?.at ?? NaN) - (before + now()) / 2;
  return { toMs: (epochMs) => epochMs - offset };
}
