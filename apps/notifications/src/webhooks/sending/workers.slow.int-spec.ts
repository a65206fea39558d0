import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Delivery } from '@plant-shop/contracts/notifications';
import { Receiver } from '@plant-shop/testing/receiver';
import { until } from '@plant-shop/testing/until';
import type { WebhooksOptions } from '../../options.js';
import { customer, TestWebhooks } from '../webhooks.spec.fixture.js';

/** 5 s become 20 ms, 5 min 1.2 s. */
const timeScale = 0.004;
const limits = { inFlight: 16, perSecond: 10_000, silentAttempts: 5, pauseMs: 50, longestPauseMs: 400 };

describe('workers', () => {
  let shop: TestWebhooks;
  let receiver: Receiver;
  beforeEach(async () => {
    receiver = await Receiver.start();
  });
  afterEach(async () => {
    await shop.stop();
    await receiver.stop();
  });

  const start = async (options: Partial<WebhooksOptions> & { replicas?: number } = {}): Promise<void> => {
    shop = await TestWebhooks.start({ timeScale, ...options });
  };
  const only = async (webhook: { id: string }): Promise<Delivery> => {
    const deliveries = await shop.deliveries(webhook);
    expect(deliveries).toHaveLength(1);
    return deliveries[0]!;
  };
  const allDelivered = (webhook: { id: string }, count: number): Promise<void> =>
    until(async () => {
      const states = (await shop.deliveries(webhook)).map(({ state }) => state);
      return states.length === count && states.every((state) => state === 'delivered');
    }, 20_000);

  it('take over what a crashed one had claimed, or had sent and not recorded', async () => {
    await start({ replicas: 0 });
    const dying = await shop.addReplica({ timeScale, leaseMs: 1_000, attemptLimitMs: 300 });
    const webhook = await shop.create(receiver.url);
    // Crashed after the 2xx: its record is never written.
    await shop.sql.query(`
      CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'killed'; END $$;
      CREATE TRIGGER dies BEFORE UPDATE ON webhook_deliveries FOR EACH ROW
        WHEN (OLD.lease IS NOT NULL AND NEW.state = 'delivered') EXECUTE FUNCTION die()`);
    const [event] = shop.happen({ orderId: 1 });
    await until(() => receiver.received.length === 1);
    await until(async () => (await only(webhook)).nextAttemptAt === undefined);
    await dying.database?.close();
    await shop.sql.query('DROP TRIGGER dies ON webhook_deliveries');
    // Crashed before the POST: it had claimed the delivery.
    const claimed = `UPDATE webhook_deliveries SET lease = gen_random_uuid(), due_at = now() + interval '700 milliseconds'`;
    await shop.sql.query(claimed);
    await shop.addReplica({ timeScale });
    await until(async () => (await shop.sql.query(`SELECT 1 FROM webhook_deliveries WHERE state = 'delivered'`)).rowCount === 1);
    expect(receiver.ids).toEqual([event!.id, event!.id]);
    expect(receiver.received[0]!.body).toBe(receiver.received[1]!.body);
  });

  it.each([2, 3])('of %i replicas share the deliveries: each is sent once, in order per order', async (replicas) => {
    await start({ replicas, limits });
    const webhook = await shop.create(receiver.url);
    const count = 900;
    receiver.answer = (_received, response) => setTimeout(() => response.writeHead(200).end(), 5);
    const events = Array.from({ length: count / 100 }, (_, n) =>
      shop.happen(...Array.from({ length: 100 }, (_each, i) => ({ orderId: (n * 100 + i) % 150 + 1 }))),
    ).flat();
    await until(() => receiver.received.length >= count, 30_000);
    await until(async () => (await shop.sql.query(`SELECT 1 FROM webhook_deliveries WHERE state <> 'delivered'`)).rowCount === 0);
    expect([...receiver.ids].sort()).toEqual(events.map(({ id }) => id));
    const byOrder = new Map<number, string[]>();
    for (const { body, headers } of receiver.received) {
      const { orderId } = (JSON.parse(body) as { data: { orderId: number } }).data;
      byOrder.set(orderId, [...(byOrder.get(orderId) ?? []), headers['webhook-id']!]);
    }
    for (const ids of byOrder.values()) expect(ids).toEqual([...ids].sort());
    expect((await shop.sql.query('SELECT 1 FROM webhook_lanes')).rowCount).toBe(0);
    expect(await shop.deliveries(webhook)).toHaveLength(count);
  });

  it('together respect an endpoint’s limit of concurrent attempts', async () => {
    await start({ replicas: 2, limits: { ...limits, inFlight: 3 } });
    await shop.create(receiver.url);
    let [now, max] = [0, 0];
    receiver.answer = (_received, response) => {
      max = Math.max(max, ++now);
      setTimeout(() => {
        now--;
        response.writeHead(200).end();
      }, 20);
    };
    shop.happen(...Array.from({ length: 60 }, (_, n) => ({ orderId: n + 1 })));
    await until(() => receiver.received.length === 60 && now === 0);
    expect(max).toBeLessThanOrEqual(3);
  });

  it('respect the rate limit of an endpoint', async () => {
    await start({ limits: { ...limits, perSecond: 20 } });
    await shop.create(receiver.url);
    shop.happen(...Array.from({ length: 50 }, (_, n) => ({ orderId: n + 1 })));
    await until(() => receiver.received.length === 50);
    const times = receiver.received.map(({ at }) => at);
    // 20 at once, and then 30 at 20 a second.
    expect(times.at(-1)! - times[0]!).toBeGreaterThanOrEqual(1_300);
  });

  it('let deliveries to a dead receiver wait instead of failing one by one, and do not delay others', async () => {
    await start({ inFlight: 4, attemptLimitMs: 400, limits: { ...limits, inFlight: 4, silentAttempts: 3 } });
    const dead = await Receiver.start();
    dead.answer = () => undefined;
    const broken = await shop.create(dead.url, {}, customer(2));
    await shop.create(receiver.url);
    shop.happen(...Array.from({ length: 40 }, (_, n) => ({ orderId: n + 1, owner: 2 })));
    await until(() => dead.received.length > 0);
    const begun = performance.now();
    shop.happen(...Array.from({ length: 40 }, (_, n) => ({ orderId: n + 101 })));
    await until(() => receiver.received.length === 40);
    // Its four attempts occupy slots until their time limit.
    expect(performance.now() - begun).toBeLessThan(3_000);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const attempts = (await shop.deliveries(broken, customer(2))).map((one) => one.attempts.length);
    expect(attempts.filter((count) => count > 0).length).toBeLessThan(15);
    // When it is back, everything arrives.
    dead.answer = (_received, response) => response.writeHead(200).end();
    await until(async () => (await shop.deliveries(broken, customer(2))).every(({ state }) => state === 'delivered'), 20_000);
    await dead.stop();
  });

  it('give a slow receiver one slot while it is slow', async () => {
    await start({ inFlight: 8, attemptLimitMs: 900, limits: { ...limits, silentAttempts: 3 } });
    const webhook = await shop.create(receiver.url);
    let [now, max] = [0, 0];
    // Two attempts begin together: when the first turns out to be slow, the second is still in progress.
    receiver.answer = (_received, response) => {
      if (receiver.received.length > 3) max = Math.max(max, now + 1);
      now++;
      setTimeout(() => {
        now--;
        response.writeHead(200).end();
      }, receiver.received.length <= 10 ? 400 : 0);
    };
    shop.happen(...Array.from({ length: 40 }, (_, n) => ({ orderId: n + 1 })));
    await until(() => receiver.received.length >= 10);
    expect(max).toBe(1);
    await allDelivered(webhook, 40);
  });

  it('that stop finish attempts in progress, and release the rest at once', async () => {
    await start({ inFlight: 2, leaseMs: 60_000 });
    const webhook = await shop.create(receiver.url);
    receiver.answer = (_received, response) => {
      if (receiver.received.length === 1) setTimeout(() => response.writeHead(200).end(), 300);
      else if (receiver.received.length > 2) response.writeHead(200).end();
    };
    shop.happen(...Array.from({ length: 6 }, (_, n) => ({ orderId: n + 1 })));
    await until(() => receiver.received.length === 2);
    const begun = performance.now();
    await shop.stopReplicas();
    expect(performance.now() - begun).toBeLessThan(4_000);
    const { rows } = await shop.sql.query<{ state: string; lease: string | null; attempts: { status: number }[] }>(
      'SELECT state, lease, attempts FROM webhook_deliveries ORDER BY state',
    );
    expect(rows.map(({ state }) => state)).toEqual(['delivered', ...Array<string>(5).fill('pending')]);
    expect(rows.filter(({ lease }) => lease !== null)).toEqual([]);
    // The aborted attempt counts neither for its delivery nor for the endpoint's health.
    expect(rows.flatMap(({ attempts }) => attempts)).toEqual([expect.objectContaining({ status: 200 })]);
    expect((await shop.sql.query('SELECT silent_attempts FROM webhook_queues')).rows).toEqual([{ silent_attempts: 0 }]);
    await shop.addReplica();
    await allDelivered(webhook, 6);
    // The aborted attempt was repeated with the same id.
    expect(receiver.received).toHaveLength(7);
  });

  it('that stop record an attempt whose status has arrived: its event is not sent again', async () => {
    await start({ leaseMs: 60_000 });
    const webhook = await shop.create(receiver.url);
    // The status arrives while the worker waits for attempts in progress. The body never ends.
    receiver.answer = (_received, response) => setTimeout(() => response.writeHead(200).flushHeaders(), 1_000);
    shop.happen({ orderId: 1 });
    await until(() => receiver.received.length === 1);
    await shop.stopReplicas();
    await shop.addReplica();
    await until(async () => (await only(webhook)).state === 'delivered');
    expect(receiver.received).toHaveLength(1);
  });

  it('record outcomes once, even if disabling the endpoint fails at first', async () => {
    await start({ replicas: 0 });
    const dead = await Receiver.start();
    const { url } = dead;
    await dead.stop();
    const worker = await shop.addReplica({ timeScale: 0.000_001, failingMs: 0, limits: { ...limits, pauseMs: 1, longestPauseMs: 1 } });
    await shop.sql.query(`
      CREATE SEQUENCE tries;
      CREATE FUNCTION fail_twice() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('tries') <= 2 THEN RAISE EXCEPTION 'lock timeout' USING ERRCODE = '55P03'; END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER fails BEFORE UPDATE ON webhooks FOR EACH ROW WHEN (NEW.state = 'disabled') EXECUTE FUNCTION fail_twice();
      GRANT ALL ON SEQUENCE tries TO PUBLIC`);
    const webhook = await shop.create(url);
    shop.happen({ orderId: 1 });
    await until(async () => (await shop.sql.query(`SELECT 1 FROM webhooks WHERE disabled_reason = 'failing'`)).rowCount === 1, 20_000);
    expect((await only(webhook)).attempts).toHaveLength(10);
    expect((await shop.sql.query('SELECT silent_attempts FROM webhook_queues')).rows).toEqual([{ silent_attempts: 10 }]);
    await until(async () => (await worker.metrics.metrics()).includes('webhook_deliveries_total{outcome="failed",service="notifications"} 1'));
  });

  it('have metrics', async () => {
    await start({ replicas: 0 });
    const first = await shop.addReplica({ timeScale: 0.000_001 });
    const [webhook, disabled] = [await shop.create(receiver.url), await shop.create(receiver.url)];
    await shop.replace(disabled, { state: 'disabled' });
    receiver.answer = ({ body }, response) => response.writeHead(body.includes('"orderId":1,') ? 500 : 200).end();
    shop.happen({ orderId: 1 }, { orderId: 2 }, { orderId: 3 });
    await until(async () => {
      const states = (await shop.deliveries(webhook)).map(({ state }) => state);
      return states.join() === 'delivered,delivered,failed';
    });
    for (const line of [
      'webhook_attempts_total{status="5xx",service="notifications"} 10',
      'webhook_attempts_total{status="2xx",service="notifications"} 2',
      'webhook_deliveries_total{outcome="delivered",service="notifications"} 2',
      'webhook_deliveries_total{outcome="failed",service="notifications"} 1',
      'webhook_attempts_in_flight{service="notifications"} 0',
    ]) {
      // Counters follow the records with a short delay.
      await until(async () => (await first.metrics.metrics()).includes(line));
    }
    const backlog = (await shop.addReplica()).metrics;
    await until(async () => (await backlog.metrics()).includes('webhook_deliveries_held{service="notifications"} 3'));
    expect(await backlog.metrics()).toContain('webhook_deliveries_pending{service="notifications"} 0');
  });
});
