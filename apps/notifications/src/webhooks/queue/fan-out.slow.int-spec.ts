import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { notifications } from '@plant-shop/contracts/notifications';
import { LogRetention } from '@plant-shop/events/log-retention';
import { createLogger } from '@plant-shop/platform/logging';
import type { Principal } from '@plant-shop/platform/rpc/context';
import { Receiver } from '@plant-shop/testing/receiver';
import { until } from '@plant-shop/testing/until';
import type pg from 'pg';
import { Registry } from 'prom-client';
import { eventsWithoutDeliveries } from '../../event-flow.js';
import { logAndCrash } from '../../log/log.spec.fixture.js';
import { customer, epoch, staff, TestWebhooks } from '../webhooks.spec.fixture.js';

const endpoints = 20;
const clerk = staff(9);

describe('a wide fan-out', () => {
  let shop: TestWebhooks;
  let receiver: Receiver;
  beforeEach(async () => {
    receiver = await Receiver.start();
    shop = await TestWebhooks.start({ replicas: 0 });
  });
  afterEach(async () => {
    // Releases locks of a failed test.
    for (const one of blockers.splice(0)) one.release(true);
    await shop.stop();
    await receiver.stop();
  });
  const blockers: pg.PoolClient[] = [];

  const pathOf = (n: number): string => `/hook/${n}`;
  const createMany = (count: number, principal: Principal): Promise<{ id: string; url: string }[]> =>
    Promise.all(Array.from({ length: count }, (_, n) => shop.create(receiver.url.replace('/hook', pathOf(n)), {}, principal)));

  /** Slows inserts down, so that a step reaches its statement limit after about this many deliveries. */
  const slowDown = async (rows: number, limitMs: number, which = 'true'): Promise<void> => {
    await shop.sql.query(`
      CREATE FUNCTION be_slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(${limitMs / rows / 1_000}); RETURN NULL; END $$`);
    await shop.sql.query(
      `CREATE TRIGGER slow AFTER INSERT ON webhook_deliveries FOR EACH ROW WHEN (${which}) EXECUTE FUNCTION be_slow()`);
  };

  const seenAt = (path: string): { id: string; orderId: string | undefined }[] =>
    receiver.received
      .filter((one) => one.path === path)
      .map(({ headers, body }) => ({ id: headers['webhook-id'] ?? '', orderId: /"orderId":(\d+)/.exec(body)?.[1] }));

  /** Waits until every endpoint has every event once, in order per order. */
  const everyEndpointHasAll = async (count: number): Promise<void> => {
    await until(() => receiver.received.length >= count * shop.feed.length, 25_000);
    for (let n = 0; n < count; n++) {
      const seen = seenAt(pathOf(n));
      expect(seen.map(({ id }) => id).sort()).toEqual(shop.feed.map(({ id }) => id));
      for (const orderId of new Set(seen.map((one) => one.orderId))) {
        const ids = seen.filter((one) => one.orderId === orderId).map(({ id }) => id);
        expect(ids).toEqual([...ids].sort());
      }
    }
    const rows = await shop.sql.query<{ enqueued: number }>('SELECT count(*) AS enqueued FROM webhook_deliveries');
    expect(rows.rows).toEqual([{ enqueued: count * shop.feed.length }]);
  };

  const happenInOrders = (count: number, owner = 1): unknown =>
    shop.happenSilently(...Array.from({ length: count }, (_, n) => ({ orderId: 1 + (n % 7), owner })));

  const lock = async (table: string, webhookId: string): Promise<() => Promise<void>> => {
    const blocker: pg.PoolClient = await shop.sql.connect();
    blockers.push(blocker);
    await blocker.query('BEGIN');
    await blocker.query(`SELECT 1 FROM ${table} WHERE webhook_id = $1 FOR UPDATE`, [webhookId]);
    return async () => {
      await blocker.query('ROLLBACK');
      blockers.pop()?.release();
    };
  };

  describe.each([
    ['of all orders', clerk, 1],
    ['of all orders, with two replicas', clerk, 2],
    ['of own orders', customer(1), 1],
    ['of own orders, with two replicas', customer(1), 2],
  ])('to endpoints %s', (_which, principal, replicas) => {
    it('takes several steps when one would take too long: nothing is lost, repeated or out of order', async () => {
      await shop.addReplica();
      await createMany(endpoints, principal);
      await shop.stopReplicas();
      happenInOrders(15);
      await logAndCrash(shop.sql, epoch, shop.feed);
      await slowDown(100, 200);
      await Promise.all(Array.from({ length: replicas }, () => shop.addReplica({ stepLimitMs: 200 })));
      await everyEndpointHasAll(endpoints);
    });

    it('takes several steps when one event has more deliveries than a step enqueues', async () => {
      const options = { stepRows: 7 };
      await Promise.all(Array.from({ length: replicas }, () => shop.addReplica(options)));
      await createMany(endpoints, principal);
      happenInOrders(20);
      shop.publish(shop.feed);
      await everyEndpointHasAll(endpoints);
      // A process that stops in the middle of an event has stored its position.
      await shop.stopReplicas();
      happenInOrders(5);
      await logAndCrash(shop.sql, epoch, shop.feed);
      await shop.addReplica({ stepRows: 3 });
      await shop.stopReplicas();
      await shop.addReplica(options);
      await everyEndpointHasAll(endpoints);
    });
  });

  it('to endpoints of all orders does not delay endpoints of own orders', async () => {
    await shop.addReplica();
    await createMany(endpoints, clerk);
    const own = await Receiver.start();
    const mine = await shop.create(own.url, {}, customer(1));
    await shop.stopReplicas();
    shop.happenSilently(...Array.from({ length: 200 }, (_, n) => ({ orderId: n + 10, owner: 2 })));
    await logAndCrash(shop.sql, epoch, shop.feed);
    // 4,000 deliveries would take at least 20 s.
    await slowDown(200, 1_000, 'NEW.of_others');
    await shop.addReplica();
    shop.happen({ orderId: 1, owner: 1 });
    await until(() => own.received.length === 1, 5_000);
    expect((await shop.deliveries(mine)).map(({ orderId }) => orderId)).toEqual([1]);
    const behind = await shop.sql.query('SELECT 1 FROM webhook_cursors, feed_watermark f WHERE webhook_cursors.watermark < f.watermark');
    expect(behind.rowCount).toBeGreaterThan(0);
    await own.stop();
  });

  it('continues without an endpoint whose rows are locked, which gets everything later', async () => {
    await shop.addReplica({ stepLimitMs: 200 });
    const webhooks = await createMany(endpoints, clerk);
    const stuck = webhooks[4]!;
    const unlock = await lock('webhook_queues', stuck.id);
    shop.happen(...Array.from({ length: 5 }, (_, n) => ({ orderId: n + 1, owner: 2 })));
    await until(() => new Set(receiver.received.map(({ path }) => path)).size === endpoints - 1, 20_000);
    await until(() => receiver.received.length === (endpoints - 1) * 5);
    expect(seenAt('/hook/4')).toEqual([]);
    await unlock();
    await everyEndpointHasAll(endpoints);
  });

  describe('to a disabled endpoint', () => {
    let webhook: Awaited<ReturnType<TestWebhooks['create']>>;
    const rows = async (): Promise<number | undefined> =>
      (await shop.sql.query<{ count: number }>('SELECT count(*) AS count FROM webhook_deliveries')).rows[0]?.count;
    beforeEach(async () => {
      await shop.addReplica();
      webhook = await shop.create(receiver.url, {}, clerk);
      await shop.replace(webhook, { state: 'disabled' }, clerk);
    });

    it('enqueues no more deliveries than its window; the log keeps the other events until the endpoint is enabled', async () => {
      await shop.log(1_600, 2);
      await until(async () => (await rows()) === 1_000);
      const { database } = await shop.addReplica();
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(await rows()).toBe(1_000);
      const retention = new LogRetention(database!, { keepMs: 0, needs: [eventsWithoutDeliveries] }, new Registry(), createLogger('test', 'fatal'));
      await retention.sweep();
      await retention.sweep();
      expect((await shop.sql.query('SELECT 1 FROM event_log')).rowCount).toBe(600);
      // The cursor's pauses have grown while the window was full. Enabling ends them.
      await shop.sql.query(`UPDATE webhook_cursors SET look_at = now() + interval '1 hour', pause_ms = 3600000`);
      await shop.replace(webhook, { state: 'enabled' }, clerk);
      await until(() => receiver.received.length === 1_600, 20_000);
      expect(new Set(receiver.ids).size).toBe(1_600);
      expect(await rows()).toBe(1_600);
    });

    it('enqueues more deliveries when those held for too long have failed', async () => {
      await shop.stopReplicas();
      await shop.addReplica({ holdMs: 0 });
      await shop.log(1_600, 2);
      await until(async () => (await shop.sql.query(`SELECT 1 FROM webhook_deliveries WHERE state = 'failed'`)).rowCount === 1_600, 20_000);
    });
  });

  it('has metrics of its lag, and a replay covers only events whose deliveries are enqueued: later ones are sent once', async () => {
    await shop.addReplica();
    const [webhook] = await createMany(1, clerk);
    shop.happen({ orderId: 1 });
    await until(() => receiver.received.length === 1);
    const unlock = await lock('webhook_cursors', webhook!.id);
    shop.happen({ orderId: 1 }, { orderId: 2 });
    await until(async () => (await shop.sql.query('SELECT 1 FROM webhook_watermark WHERE watermark = 3')).rowCount === 1);
    const replay = await shop.call(notifications.replayEvents, { webhookId: webhook!.id, replay: {} }, clerk);
    expect(replay).toEqual({ scheduled: 1 });
    // A replica reads the backlog when it starts.
    const { metrics } = await shop.addReplica();
    await until(async () => (await metrics.metrics()).includes('webhook_cursors_behind_events{service="notifications"} 2\n'));
    expect(await metrics.metrics()).toMatch(/webhook_cursors_behind_seconds{service="notifications"} (0\.\d*[1-9]\d*|[1-9])/);
    expect(await metrics.metrics()).toContain('webhook_log_behind_seconds{service="notifications"} 0\n');
    await unlock();
    await until(() => receiver.received.length === 4);
    const enqueued = await shop.sql.query<{ seq: number }>('SELECT seq FROM webhook_deliveries ORDER BY id');
    expect(enqueued.rows.map(({ seq }) => seq)).toEqual([1, 1, 2, 3]);
  });
});
