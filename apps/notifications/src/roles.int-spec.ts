import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type CreatedWebhook, notifications } from '@plant-shop/contracts/notifications';
import { createLogger } from '@plant-shop/platform/logging';
import { Nats } from '@plant-shop/platform/nats';
import { readinessOf } from '@plant-shop/platform/service/readiness';
import type { Service } from '@plant-shop/platform/service/service';
import { startService, TestCaller } from '@plant-shop/service-testing/service';
import { Receiver } from '@plant-shop/testing/receiver';
import { until } from '@plant-shop/testing/until';
import { logAndCrash } from './log/log.spec.fixture.js';
import { testSettings } from './notifications.spec.fixture.js';
import { startNotifications } from './notifications.module.js';
import { type Replica, Shop } from './stream/stream.spec.fixture.js';
import { customer as customerNo } from './webhooks/webhooks.spec.fixture.js';

/** The customer of the stream fixture's events. */
const principal = customerNo(1);
const targets = { WEBHOOK_ALLOWED_TARGETS: '127.0.0.1:*' };

describe('replicas of one role', () => {
  let shop: Shop;
  let caller: TestCaller;
  let receiver: Receiver;
  beforeAll(async () => {
    shop = await Shop.open();
    caller = await TestCaller.connect(shop.nats.url);
    receiver = await Receiver.start();
  });
  afterEach(async () => {
    await shop.reset();
    await shop.sql.query('TRUNCATE webhooks, webhook_deliveries, webhook_lanes CASCADE');
    await shop.sql.query('UPDATE webhook_watermark SET watermark = 0, part_seq = NULL, part_webhook_id = NULL');
    receiver.received.length = 0;
  });
  afterAll(async () => {
    await caller.close();
    await shop.close();
    await receiver.stop();
  });

  const stream = (variables = {}): Promise<Replica> => shop.start({ ...targets, NOTIFICATIONS_ROLE: 'stream', ...variables });
  const webhooks = (): Promise<Replica> => shop.start({ ...targets, NOTIFICATIONS_ROLE: 'webhooks' });
  const create = (): Promise<CreatedWebhook> =>
    caller.call(notifications.createWebhook, { webhook: { url: receiver.url, eventTypes: ['order.status_changed'] } }, principal);
  const webhooksState = async (): Promise<string> =>
    caller.call(notifications.listWebhooks, {}, principal, 300).then(() => 'there', (error: unknown) => (error as { code: string }).code);

  it('`stream` alone: clients get every event once, also when they resume; webhooks wait (slow)', async () => {
    const replica = await stream();
    expect(await webhooksState()).toBe('unavailable');
    const client = await replica.opened('api_key=key&cursor=latest');
    shop.move(5);
    await client.has(5);
    await client.close();
    await replica.stop();
    shop.move(5, { silently: true });
    const next = await (await stream()).opened(`api_key=key&cursor=${client.events.at(-1)?.cursor}`);
    await next.has(5);
    expect([...client.events, ...next.events].map(({ id }) => id)).toEqual(shop.feed.map(({ id }) => id));
    expect((await shop.sql.query('SELECT 1 FROM webhook_deliveries')).rowCount).toBe(0);
  });

  it('`webhooks` alone: every event is logged and delivered, operations are answered, and the stream has no port (slow)', async () => {
    const services: Service[] = [];
    const port = await new Promise<number | undefined>((resolve, reject) => {
      startService('notifications', shop.nats.url, async (one) => {
        services.push(one);
        resolve((await startNotifications(one, testSettings(shop.database.serviceUrl, { ...targets, NOTIFICATIONS_ROLE: 'webhooks' }))).streamPort);
      }).catch(reject);
    });
    expect(port).toBeUndefined();
    await until(async () => (await caller.call(readinessOf('notifications'), {})).ready);
    await create();
    const events = shop.move(Array.from({ length: 5 }, (_, n) => ({ orderId: n + 1 })));
    await until(() => receiver.received.length === 5, 15_000);
    expect(receiver.ids.sort()).toEqual(events.map(({ id }) => id));
    expect(await services[0]?.metrics.metrics()).toMatch(/^notifications_role\{role="webhooks",service="notifications"\} 1$/m);
    await services[0]?.stop();
  }, 30_000);

  it('events logged without a webhooks replica are delivered, in order, once there is one (slow)', async () => {
    const first = await webhooks();
    await create();
    await first.stop();
    const replica = await stream();
    const client = await replica.opened('api_key=key&cursor=latest');
    const events = shop.move(Array.from({ length: 10 }, () => ({ orderId: 1 })));
    await client.has(10);
    expect(receiver.received).toEqual([]);
    await webhooks();
    await until(() => receiver.received.length === 10, 15_000);
    expect(receiver.ids).toEqual(events.map(({ id }) => id));
  }, 30_000);

  it('replicas of the stream get events from messages of webhooks replicas, without reading the log (slow)', async () => {
    const [left, right] = await Promise.all([stream(), stream()]);
    await Promise.all([webhooks(), webhooks()]);
    const clients = await Promise.all([left, right].map((one) => one.opened()));
    for (let n = 0; n < 40; n++) {
      shop.move();
      for (const client of clients) await client.has(n + 1);
    }
    for (const { frames } of clients) expect(frames).toEqual(shop.feed.map(({ body }) => body));
    // A poll each second may be faster than a message. Without messages, polls would find every other event.
    expect((await left.metric('stream_ring_misses_total')) + (await right.metric('stream_ring_misses_total'))).toBeLessThan(10);
  }, 30_000);

  it('webhooks replicas deliver at once what a replica of the stream has logged (slow)', async () => {
    await webhooks();
    await create();
    // Its own follower gets no events.
    shop.storeIsDown = true;
    const nats = await Nats.connect({ url: shop.nats.url, name: 'notifications' }, createLogger('test', 'fatal'));
    const waits: number[] = [];
    for (let seq = 1; seq <= 6; seq++) {
      // Like a replica of the stream: logs the event without deliveries, and announces it.
      shop.move(1, { silently: true });
      await logAndCrash(shop.sql, shop.epoch, [shop.feed[seq - 1]!]);
      const begun = performance.now();
      nats.connection.publish('notifications.fanout', JSON.stringify({ epoch: shop.epoch, after: seq - 1, upTo: seq, reachedAt: Date.now(), needsDeliveries: true }));
      await until(() => receiver.received.length === seq, 15_000);
      waits.push(performance.now() - begun);
    }
    await nats.close(1_000);
    // Without messages each would wait for the next poll, a second on average.
    expect(waits.sort((a, b) => a - b)[3]).toBeLessThan(500);
  }, 60_000);

  it('old events are deleted without a webhooks replica, unless an endpoint still needs them (slow)', async () => {
    const log = () => logAndCrash(shop.sql, shop.epoch, shop.move(5, { silently: true }), { ageMs: 40 * 86_400_000 });
    const oldest = async (): Promise<number> => Number((await shop.sql.query<{ oldest: number }>('SELECT oldest FROM log_kept')).rows[0]?.oldest);
    const first = await webhooks();
    const endpoint = await create();
    await first.stop();
    await log();
    const second = await stream();
    await until(async () => (await second.metric('event_log_oldest_age_seconds')) > 0, 15_000);
    expect(await oldest()).toBe(1);
    await second.stop();
    await shop.sql.query(`UPDATE webhooks SET state = 'deleted' WHERE id = $1`, [endpoint.id]);
    await stream();
    // The event at the watermark stays.
    await until(async () => (await oldest()) === 5, 15_000);
  }, 60_000);

  it('the send lag starts when an event reaches notifications: a slow store does not add replicas (slow)', async () => {
    const replica = await stream();
    const client = await replica.opened();
    shop.storeIsDown = true;
    shop.move(3, { silently: true });
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    shop.storeIsDown = false;
    await client.has(3, 10_000);
    const sumOf = async (name: string): Promise<number> => {
      const [, sum] = new RegExp(`^${name}_sum\\{[^}]*\\} (\\S+)$`, 'm').exec(await replica.service.metrics.metrics()) ?? [];
      return Number(sum);
    };
    await until(async () => (await sumOf('stream_lag_seconds')) > 8);
    expect(await sumOf('stream_send_lag_seconds')).toBeLessThan(4);
  }, 30_000);
});
