import { type EventType, isStockEvent, noSubject } from '@plant-shop/contracts/events';
import { identity } from '@plant-shop/contracts/identity';
import { type CreatedWebhook, type Delivery, type NewWebhook, notifications, type Webhook } from '@plant-shop/contracts/notifications';
import { type Permission, permissionsOfRole } from '@plant-shop/contracts/permissions';
import { store } from '@plant-shop/contracts/store';
import type { FeedPage } from '@plant-shop/contracts/store.feed';
import { createLogger } from '@plant-shop/platform/logging';
import { CodedError } from '@plant-shop/platform/errors';
import { Nats } from '@plant-shop/platform/nats';
import type { Operation } from '@plant-shop/platform/rpc/operation';
import type { Principal } from '@plant-shop/platform/rpc/context';
import type { Service } from '@plant-shop/platform/service/service';
import { CrashTestbed } from '@plant-shop/service-testing/crash/every-point';
import { createDatabase } from '@plant-shop/service-testing/postgres';
import { fake, startFake, startService, TestCaller } from '@plant-shop/service-testing/service';
import { startNats, type TestNats } from '@plant-shop/testing/nats';
import type { TestDatabase } from '@plant-shop/testing/postgres';
import { startProxy, type TestProxy } from '@plant-shop/testing/proxy';
import { until } from '@plant-shop/testing/until';
import pg from 'pg';
import { migrationsFolder } from '../database.js';
import { logAndCrash } from '../log/log.spec.fixture.js';
import { testSettings } from '../notifications.spec.fixture.js';
import { startNotifications } from '../notifications.module.js';
import type { MailOptions, WebhooksOptions } from '../options.js';

type Event = FeedPage['events'][number];

export const epoch = '00000000-0000-4000-8000-0000000000e0';

/** Returns the id of a numbered user. */
export const userNo = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
export const customer = (n: number): Principal => ({
  subject: userNo(n),
  permissions: [...permissionsOfRole.customer],
  shown: ['session'],
});
export const staff = (n: number): Principal => ({ subject: userNo(n), permissions: [...permissionsOfRole.staff], shown: ['session'] });

/** A status change of an order, or an event of another type; `orderId` means nothing for one of stock. */
export interface Change {
  readonly orderId: number;
  readonly plantId?: number;
  /** Customer 1 by default. */
  readonly owner?: number;
  readonly newStatus?: string;
  readonly type?: EventType;
}

/** Proxies between a replica and its servers. */
export interface Network {
  readonly postgres: TestProxy;
  readonly nats: TestProxy;
}

/** Replicas of notifications, with fakes of store and identity that a test controls. */
export class TestWebhooks {
  /** The store's events, by number. */
  readonly feed: Event[] = [];
  private readonly replicas: Service[] = [];
  /** Permissions of users; undefined for deleted users. */
  readonly users = new Map<string, readonly Permission[] | undefined>();
  /** Milliseconds by which identity's clock is ahead of this host's. */
  identityAheadMs = 0;
  readonly revocations: { position: number; kind: 'user' | 'userChanged'; id: string }[] = [];
  /** Changes when identity's database is restored. */
  identityEpoch = 'epoch 1';
  /** Users about whom identity answers with an error. */
  readonly failingUsers = new Set<string>();
  /** Users about whom identity was asked, in order. */
  readonly lookups: string[] = [];
  /** Identity answers about users when this is resolved. */
  usersAreKnown: Promise<void> = Promise.resolve();

  private constructor(
    readonly nats: TestNats,
    private readonly database: TestDatabase,
    readonly sql: pg.Pool,
    readonly caller: TestCaller,
    private readonly closers: (() => Promise<unknown>)[],
  ) {}

  static async start({ replicas = 1, ...options }: Partial<WebhooksOptions> & { replicas?: number } = {}): Promise<TestWebhooks> {
    const [nats, database] = await Promise.all([startNats(), createDatabase(migrationsFolder)]);
    const sql = new pg.Pool({ connectionString: database.url, max: 4 });
    // The pool ends before its sockets do; `disconnect` then terminates them.
    sql.on('error', (error: Error & { code?: string }) => {
      if (error.code !== '57P01') throw error;
    });
    const caller = await TestCaller.connect(nats.url);
    const shop = new TestWebhooks(nats, database, sql, caller, []);
    const fakes = [await shop.startStore(), await shop.startIdentity()];
    const storeNats = await Nats.connect({ url: nats.url, name: 'store' }, createLogger('test', 'fatal'));
    shop.publish = (events) => {
      const [first] = events;
      const before = shop.feed.find(({ seq }) => seq + 1 === first?.seq);
      const after = { seq: before?.seq ?? 0, ...(before && { id: before.id }) };
      storeNats.connection.publish('store.feed', JSON.stringify({ epoch, head: shop.feed.length, after, events }));
    };
    shop.closers.push(
      () => caller.close(),
      ...fakes.map((one) => () => one.stop()),
      () => storeNats.close(1_000),
      () => sql.end(),
      () => database.disconnect(),
      () => nats.stop(),
    );
    await Promise.all(Array.from({ length: replicas }, () => shop.addReplica(options)));
    return shop;
  }

  /** Publishes the store's message: the head of the feed, and new events. */
  publish!: (events: readonly Event[]) => void;

  /** Starts another replica, in this process. */
  async addReplica(options: Partial<WebhooksOptions> = {}, variables: Record<string, string> = {}, mail: Partial<MailOptions> = {}): Promise<Service> {
    const service = await startService('notifications', this.nats.url, (one) => this.startOn(one, options, variables, mail));
    this.replicas.push(service);
    return service;
  }

  /** Starts another replica, whose network to Postgres and NATS a test can cut. */
  async addDistantReplica(options: Partial<WebhooksOptions> = {}, given: Record<string, string> = {}, mail: Partial<MailOptions> = {}): Promise<Network> {
    const relay = async (url: URL) => startProxy({ host: url.hostname, port: Number(url.port) });
    const [toPostgres, toNats] = [new URL(this.database.serviceUrl), new URL(this.nats.url)];
    const links = [await relay(toPostgres), await relay(toNats)] as const;
    this.closers.unshift(...links.map((link) => () => link.stop()));
    [toPostgres.port, toNats.port] = [String(links[0].port), String(links[1].port)];
    const variables = { ...given, NOTIFICATIONS_DATABASE_URL: toPostgres.href };
    this.replicas.push(await startService('notifications', toNats.href, (one) => this.startOn(one, options, variables, mail)));
    const [postgres, nats] = links;
    return { postgres, nats };
  }

  /** For tests that crash replicas; the test must stop it. */
  crashStage(options: Partial<WebhooksOptions>, variables: Record<string, string> = {}, mail: Partial<MailOptions> = {}): Promise<CrashTestbed> {
    return CrashTestbed.start('notifications', this.nats.url, (one) => this.startOn(one, options, variables, mail));
  }

  private startOn(service: Service, options: Partial<WebhooksOptions>, variables: Record<string, string> = {}, mail: Partial<MailOptions> = {}): Promise<unknown> {
    const config = testSettings(this.database.serviceUrl, { WEBHOOK_ALLOWED_TARGETS: '127.0.0.1:*, localhost:*', WEBHOOK_RATE_PER_HOST: '1000000', ...variables });
    return startNotifications(service, config, { pollMs: 50, sweepMs: 50, ...options }, { pollMs: 50, sweepMs: 50, ...mail });
  }

  async stopReplicas(): Promise<void> {
    await Promise.all(this.replicas.splice(0).map((service) => service.stop()));
  }

  async stop(): Promise<void> {
    await this.stopReplicas();
    for (const close of this.closers) await close();
  }

  happen(...changes: readonly Change[]): Event[] {
    const events = this.happenSilently(...changes);
    this.publish(events);
    return events;
  }

  /** Adds events to the feed without a message. */
  happenSilently(...changes: readonly Change[]): Event[] {
    const events = changes.map((one, n) => this.eventNo(this.feed.length + n + 1, one));
    this.feed.push(...events);
    return events;
  }

  private eventNo(seq: number, { orderId, plantId = 7, owner = 1, newStatus = 'approved', type = 'order.status_changed' }: Change): Event {
    const isStock = isStockEvent(type);
    const data = isStock ? { plantId, free: 0 } : { orderId, plantId, previousStatus: 'placed', newStatus, trackingNumber: '' };
    return {
      seq,
      id: `00000000-0000-7000-8000-${String(seq).padStart(12, '0')}`,
      subject: isStock ? noSubject : userNo(owner),
      body: JSON.stringify({ event: type, timestamp: new Date().toISOString(), data }),
    };
  }

  /** Gives an event a second number, like a store that was restored from a backup. */
  happenAgain(event: Event): void {
    const again = { ...event, seq: this.feed.length + 1 };
    this.feed.push(again);
    this.publish([again]);
  }

  /** Writes many events of one customer straight into the log. */
  async log(count: number, owner: number): Promise<void> {
    const after = this.feed.length;
    const events = Array.from({ length: count }, (_, n) => this.eventNo(after + n + 1, { orderId: n + 1, owner }));
    this.feed.push(...events);
    await logAndCrash(this.sql, epoch, events, { upTo: null });
    await until(async () => (await this.sql.query('SELECT 1 FROM feed_watermark WHERE watermark = $1', [after + count])).rowCount === 1, 20_000);
  }

  /** Waits until the deliveries of all logged events are enqueued. */
  webhooksHaveFollowed(): Promise<void> {
    const same = `SELECT 1 FROM webhook_watermark w JOIN feed_watermark f USING (watermark)
      WHERE NOT EXISTS (SELECT 1 FROM webhook_cursors c JOIN webhooks e ON e.id = c.webhook_id WHERE c.watermark < f.watermark AND e.state <> 'deleted')`;
    return until(async () => (await this.sql.query(same)).rowCount === 1, 20_000);
  }

  call<Payload, Answer>(operation: Operation<Payload, Answer>, payload: Payload, principal: Principal): Promise<Answer> {
    return this.caller.call(operation, payload, principal);
  }

  /** Adds an entry to identity's log of revocations. */
  revoke(kind: 'user' | 'userChanged', id: string): void {
    this.revocations.push({ position: this.revocations.length + 1, kind, id });
  }

  create(url: string, given: Partial<NewWebhook> = {}, principal = customer(1)): Promise<CreatedWebhook> {
    return this.call(notifications.createWebhook, { webhook: { url, eventTypes: ['order.status_changed'], ...given } }, principal);
  }

  replace({ id, url, eventTypes }: Webhook, given: object, principal = customer(1)): Promise<Webhook> {
    const webhook = { url, eventTypes: [...eventTypes], ...given };
    return this.call(notifications.replaceWebhook, { webhookId: id, webhook }, principal);
  }

  deliveries({ id }: { id: string }, principal = customer(1)): Promise<Delivery[]> {
    return this.call(notifications.listDeliveries, { webhookId: id }, principal);
  }

  private startStore() {
    return startFake(this.nats.url, 'store', [
      fake(store.feedRead, ({ after, limit }) => ({
        epoch,
        head: this.feed.length,
        matches: true,
        next: after + 1,
        events: this.feed.slice(after, after + limit),
      })),
    ]);
  }

  private startIdentity() {
    return startFake(this.nats.url, 'identity', [
      fake(identity.readRevocations, ({ after }) => ({
        head: this.revocations.length,
        entries: this.revocations.filter(({ position }) => position > after),
        matches: true,
        time: Date.now() + this.identityAheadMs,
        epoch: this.identityEpoch,
      })),
      fake(identity.resolveSubject, async ({ userId }) => {
        await this.usersAreKnown;
        this.lookups.push(userId);
        if (this.failingUsers.has(userId)) throw new CodedError('internal', 'The user cannot be read.');
        const permissions = this.users.has(userId) ? this.users.get(userId) : permissionsOfRole.staff;
        if (!permissions) throw new CodedError('credential-refused', 'The user is gone.');
        return { permissions: [...permissions], position: this.revocations.length };
      }),
      // The user of number n is called "user-<n>".
      fake(identity.resolveUsername, ({ username }) => {
        if (!/^user-\d+$/.test(username)) throw new CodedError('user-not-found', 'There is no user with this name.');
        return { userId: userNo(Number(username.slice(5))) };
      }),
      fake(identity.resolveUserIds, ({ userIds }) => userIds.map((userId) => ({ userId, username: `user-${Number(userId.slice(-12))}` }))),
    ]);
  }
}
