import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { broadcasts } from '@plant-shop/contracts/broker';
import { type EventType, isStockEvent, noSubject } from '@plant-shop/contracts/events';
import { store } from '@plant-shop/contracts/store';
import type { FeedPage } from '@plant-shop/contracts/store.feed';
import { theService, unavailable } from '@plant-shop/platform/errors';
import { createLogger } from '@plant-shop/platform/logging';
import { Nats } from '@plant-shop/platform/nats';
import type { Service } from '@plant-shop/platform/service/service';
import { FakeIdentity, userId } from '@plant-shop/service-testing/identity';
import { createDatabase } from '@plant-shop/service-testing/postgres';
import { fake, startFake, startService } from '@plant-shop/service-testing/service';
import { startNats, type TestNats } from '@plant-shop/testing/nats';
import type { TestDatabase } from '@plant-shop/testing/postgres';
import { until } from '@plant-shop/testing/until';
import pg from 'pg';
import { type ClientOptions, WebSocket } from 'ws';
import { migrationsFolder } from '../database.js';
import { testSettings } from '../notifications.spec.fixture.js';
import { startNotifications } from '../notifications.module.js';

// Notifications with real NATS and Postgres. Store and identity are fakes, which validate payloads by the contract.

export type FeedEvent = FeedPage['events'][number];

export const updates = '/v1/orders/updates';
export { userId };
export const customer = userId(1);
const epochNo = (n: number): string => `00000000-0000-4000-8000-0000000000e${n}`;

export interface Move {
  readonly subject?: string;
  readonly orderId?: number;
  readonly plantId?: number;
  readonly newStatus?: string;
  /** Absent for a status change. */
  readonly type?: Exclude<EventType, 'order.status_changed'>;
}

/** Additional data of events by type. */
const dataOf = {
  'order.placed': { quantity: 1 },
  'order.shipped': { carrier: 'Green Post', trackingNumber: 'GP-0042' },
  'refund.due': { refundId: 31 },
  'stock.low': { free: 3, lowStockAt: 5 },
  'stock.out': { free: 0 },
  'stock.back': { free: 9 },
} satisfies Record<NonNullable<Move['type']>, object>;

/** The environment of the stream, and its replicas. */
export class Shop {
  readonly identity = new FakeIdentity(['write:orders']);
  /** The store's events. */
  readonly feed: FeedEvent[] = [];
  epoch = epochNo(1);
  private fakes: { stop: () => Promise<void> }[] = [];
  private replicas: Replica[] = [];

  private constructor(
    readonly nats: TestNats,
    readonly database: TestDatabase,
    readonly sql: pg.Pool,
    private storeNats: Nats,
  ) {}

  static async open(): Promise<Shop> {
    const [nats, database] = await Promise.all([startNats(), createDatabase(migrationsFolder)]);
    const sql = new pg.Pool({ connectionString: database.url, max: 2 });
    sql.on('error', () => undefined);
    const shop = new Shop(nats, database, sql, await Nats.connect({ url: nats.url, name: 'store' }, createLogger('test', 'fatal')));
    shop.identity.addCredential('key');
    shop.identity.addCredential('other', { userId: userId(2) });
    shop.identity.addCredential('admin', { userId: userId(3), permissions: ['read:orders'] });
    shop.fakes = await Promise.all([
      startFake(nats.url, 'store', [
        fake(store.feedRead, ({ after, limit }) => {
          if (shop.storeIsDown) throw unavailable(theService('store'));
          const events = shop.feed.filter(({ seq }) => seq > after).slice(0, limit);
          const nothingLost = after === shop.failedOverAfter;
          return { epoch: shop.epoch, head: shop.feed.at(-1)?.seq ?? 0, matches: true, next: events[0]?.seq ?? after + 1, ...(nothingLost && { nothingLost }), events };
        }),
      ]),
      startFake(nats.url, 'identity', shop.identity.fakes()),
    ]);
    return shop;
  }

  /** Opens another connection to NATS. */
  connect(): Promise<Nats> {
    return Nats.connect({ url: this.nats.url, name: 'test' }, createLogger('test', 'fatal'));
  }

  async close(): Promise<void> {
    this.identity.isUnresponsive = false;
    await Promise.all(this.replicas.map((one) => one.stop()));
    await Promise.all(this.fakes.map((one) => one.stop()));
    await this.storeNats.close(1_000);
    await this.sql.end();
    await this.database.disconnect();
    await this.nats.stop();
  }

  /** Stops all replicas, and empties log and feed. */
  async reset(): Promise<void> {
    this.identity.isUnresponsive = false;
    this.identity.clockAheadMs = 0;
    // Revoked ids stay revoked, and the next test uses the same ids again.
    this.identity.log = [];
    this.storeIsDown = false;
    await Promise.all(this.replicas.splice(0).map((one) => one.stop()));
    this.feed.length = 0;
    this.failedOverAfter = undefined;
    this.epoch = epochNo(1);
    await this.sql.query('TRUNCATE event_log, event_gaps, log_epochs');
    await this.sql.query('UPDATE log_kept SET oldest = 1');
    await this.sql.query('DELETE FROM feed_watermark');
    await this.sql.query('INSERT INTO feed_watermark DEFAULT VALUES');
  }

  async start(variables: Readonly<Record<string, string>> = {}, natsUrl = this.nats.url): Promise<Replica> {
    let port = 0;
    const service = await startService('notifications', natsUrl, async (one) => {
      port = (await startNotifications(one, testSettings(this.database.serviceUrl, variables))).streamPort ?? 0;
    });
    const replica = new Replica(service, port);
    this.replicas.push(replica);
    return replica;
  }

  /** Adds events to the store's feed and, unless `silently`, publishes a message. */
  move(moves: readonly Move[] | number = 1, { silently = false } = {}): FeedEvent[] {
    const all = typeof moves === 'number' ? Array.from({ length: moves }, () => ({})) : moves;
    const events = all.map((move) => this.event(move));
    if (!silently && events.length > 0) {
      const before = this.feed.at(-1 - events.length);
      const after = before ? { seq: before.seq, id: before.id } : { seq: 0 };
      this.storeNats.connection.publish(broadcasts.feed.subject, JSON.stringify({ epoch: this.epoch, head: this.feed.at(-1)?.seq, after, events }));
    }
    return events;
  }

  /** Restores the database of notifications from a backup while its replicas run. */
  async restoreLog(watermark: number): Promise<void> {
    await this.sql.query(`
      BEGIN;
      DELETE FROM event_log WHERE seq > ${watermark};
      UPDATE feed_watermark SET watermark = ${watermark};
      COMMIT`);
  }
  /** While set, the store answers no requests. */
  storeIsDown = false;

  /** Restores the store from a backup: a new epoch begins after the numbers used so far. */
  beginEpoch(n: number, numbersLost = 0): void {
    this.epoch = epochNo(n);
    this.lost += numbersLost;
  }
  private lost = 0;

  /** Fails over to a replica that lacks the last events. The store begins a new epoch after the others, and leaves numbers out. */
  failOver(n: number, eventsLost: number): void {
    this.feed.length -= eventsLost;
    this.failedOverAfter = this.feed.at(-1)?.seq;
    this.beginEpoch(n, 100_000);
  }
  private failedOverAfter: number | undefined;

  /** Deletes the log's events, as retention does. */
  async forgetLog(): Promise<void> {
    await this.isLogged();
    await this.sql.query('DELETE FROM event_log');
    await this.sql.query('UPDATE log_kept SET oldest = (SELECT watermark + 1 FROM feed_watermark)');
  }

  isLogged(): Promise<void> {
    return until(async () => {
      const { rows } = await this.sql.query<{ watermark: string }>('SELECT watermark FROM feed_watermark');
      return Number(rows[0]?.watermark) >= (this.feed.at(-1)?.seq ?? 0);
    });
  }

  private event({ type, subject = type && isStockEvent(type) ? noSubject : customer, orderId, plantId = 7, newStatus = 'approved' }: Move): FeedEvent {
    const seq = (this.feed.at(-1)?.seq ?? 0) + 1 + this.lost;
    this.lost = 0;
    const change = { orderId: orderId ?? seq, plantId, previousStatus: 'placed', newStatus, trackingNumber: '' };
    const data = type ? { ...dataOf[type], ...(!isStockEvent(type) && { orderId: orderId ?? seq }), plantId } : change;
    const event: FeedEvent = {
      seq,
      id: `00000000-0000-7000-8000-${String(seq).padStart(12, '0')}`,
      subject,
      body: JSON.stringify({ event: type ?? 'order.status_changed', timestamp: new Date().toISOString(), data }),
    };
    this.feed.push(event);
    return event;
  }
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** One replica of notifications, seen from outside. */
export class Replica {
  private stopped: Promise<void> | undefined;

  constructor(
    readonly service: Service,
    readonly port: number,
  ) {}

  stop(): Promise<void> {
    return (this.stopped ??= this.service.stop());
  }

  connect(query = 'api_key=key', protocols: string[] = [], options: ClientOptions = {}): Client {
    return new Client(new WebSocket(`ws://127.0.0.1:${this.port}${updates}?${query}`, protocols, options));
  }

  async opened(...args: Parameters<Replica['connect']>): Promise<Client> {
    const client = this.connect(...args);
    await client.isOpen;
    return client;
  }

  /**
   * Opens many clients, in parts. Retries refused ones: a replica on a busy machine may not hear of revocations for a second, and then
   * admits no clients.
   */
  async openedMany(count: number, query: string): Promise<Client[]> {
    const end = performance.now() + 10_000;
    const openOne = async (): Promise<Client> => {
      for (;;) {
        try {
          return await this.opened(query);
        } catch (error) {
          if (performance.now() > end) throw error;
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
      }
    };
    const clients: Client[] = [];
    while (clients.length < count) clients.push(...(await Promise.all(Array.from({ length: Math.min(50, count - clients.length) }, openOne))));
    return clients;
  }

  async ask(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<HttpAnswer> {
    const asked = request({ port: this.port, path, headers, method, agent: false });
    asked.end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    let body = '';
    for await (const piece of response) body += String(piece);
    return { status: response.statusCode ?? 0, headers: response.headers, body };
  }

  /** Returns the number of connections that were closed with a code. */
  async closes(code: string): Promise<number> {
    const { values } = (await this.service.metrics.getSingleMetric('stream_closes_total')?.get()) ?? { values: [] };
    return values.find(({ labels }) => labels['code'] === code)?.value ?? 0;
  }

  /** Returns the sum of a metric over its labels. */
  async metric(name: string): Promise<number> {
    const { values } = (await this.service.metrics.getSingleMetric(name)?.get()) ?? { values: [] };
    return values.reduce((sum, { value }) => sum + value, 0);
  }
}

/** A WebSocket client of the stream. */
export class Client {
  readonly frames: string[] = [];
  readonly isOpen: Promise<void>;
  readonly closed: Promise<{ code: number; reason: string }>;
  pings = 0;
  /** The payload of the last ping. */
  pinged = '';

  constructor(readonly socket: WebSocket) {
    socket.on('message', (data: Buffer) => this.frames.push(data.toString()));
    socket.on('ping', (payload: Buffer) => {
      this.pings++;
      this.pinged = payload.toString();
    });
    this.isOpen = new Promise((resolve, reject) => {
      socket.on('open', resolve);
      socket.on('error', reject);
    });
    this.isOpen.catch(() => undefined);
    this.closed = new Promise((resolve) => {
      socket.on('close', (code, reason) => resolve({ code, reason: reason.toString() }));
    });
  }

  /** The parsed frames of a resumable client. */
  get events(): { id?: string; cursor: string; event: string; data: { orderId?: number; reason?: string } }[] {
    return this.frames.map((frame) => JSON.parse(frame) as Client['events'][number]);
  }

  has(count: number, limitMs?: number): Promise<void> {
    return until(() => this.frames.length >= count, limitMs);
  }

  close(): Promise<unknown> {
    this.socket.close();
    return this.closed;
  }
}
