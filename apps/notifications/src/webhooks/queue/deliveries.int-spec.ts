import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type CreatedWebhook, type Delivery, type DeliveryDetails, notifications, type Webhook as Endpoint } from '@plant-shop/contracts/notifications';
import type { Principal } from '@plant-shop/platform/rpc/context';
import { contextFor } from '@plant-shop/service-testing/service';
import { Receiver } from '@plant-shop/testing/receiver';
import { until } from '@plant-shop/testing/until';
import { Webhook } from 'standardwebhooks';
import { type Change, customer, staff, TestWebhooks } from '../webhooks.spec.fixture.js';

const fiveDays = 5 * 86_400_000;

let shop: TestWebhooks;
let receiver: Receiver;
/** Each test has its own customer. */
let owner = 0;
let principal: Principal;
let webhook: CreatedWebhook;

const running = (timeScale: number): void => {
  beforeAll(async () => {
    shop = await TestWebhooks.start({ timeScale, failingMs: fiveDays, holdMs: 6 * fiveDays, pollMs: 50 });
  });
  afterAll(() => shop.stop());
  beforeEach(async () => {
    receiver = await Receiver.start();
    principal = customer(++owner);
    webhook = await shop.create(receiver.url, {}, principal);
  });
  afterEach(() => receiver.stop());
};

const happen = (...changes: readonly Change[]) => shop.happen(...changes.map((one) => ({ ...one, owner })));
const deliveries = (): Promise<Delivery[]> => shop.deliveries(webhook, principal);
const states = async (): Promise<string[]> => (await deliveries()).map(({ state }) => state);
const endpoint = (): Promise<Endpoint> => shop.call(notifications.getWebhook, { webhookId: webhook.id }, principal);
const answer = (status: number, headers = {}): void => {
  receiver.answer = (_received, response) => response.writeHead(status, headers).end();
};
const allDelivered = (count: number): Promise<void> =>
  until(async () => {
    const now = await states();
    return now.length === count && now.every((state) => state === 'delivered');
  }, 20_000);
const allEnded = (count: number): Promise<void> =>
  until(async () => {
    const now = await states();
    return now.length === count && now.every((state) => state === 'delivered' || state === 'failed');
  });
/** Returns the ids of an order's events, in order of receipt. */
const idsOf = (orderId: number): string[] =>
  receiver.received.filter(({ body }) => body.includes(`"orderId":${orderId},`)).map(({ headers }) => headers['webhook-id'] ?? '');
/** Moves the endpoint's first failure 6 days back. */
const sixDaysPass = (): Promise<unknown> =>
  shop.sql.query(`UPDATE webhook_queues SET failing_since = failing_since - interval '6 days' WHERE webhook_id = $1`, [webhook.id]);

describe('deliveries, 250 times as fast', () => {
  // 5 s become 20 ms, 5 min 1.2 s.
  running(0.004);

  it('are retried by the schedule, with the same id and bytes, until a 2xx (slow)', async () => {
    receiver.answer = (_received, response) => response.writeHead(receiver.received.length < 3 ? 500 : 200).end();
    const [event] = happen({ orderId: 1 });
    await allDelivered(1);
    expect(receiver.ids).toEqual([event!.id, event!.id, event!.id]);
    expect(new Set(receiver.received.map(({ body }) => body))).toEqual(new Set([event!.body]));
    const [{ attempts }] = (await deliveries()) as [Delivery];
    expect(attempts.map(({ status }) => status)).toEqual([500, 500, 200]);
    expect(attempts[0]?.error).toBe('The receiver answered 500.');
    const [first, second, third] = receiver.received.map(({ at }) => at) as [number, number, number];
    expect(second - first).toBeGreaterThanOrEqual(18);
    expect(third - second).toBeGreaterThanOrEqual(1_080);
  });

  it('show the last attempt’s request, and the answer to it if it failed (slow)', async () => {
    const details = async (): Promise<DeliveryDetails> =>
      shop.call(notifications.getDelivery, { webhookId: webhook.id, deliveryId: (await deliveries())[0]!.id }, principal);
    receiver.answer = (_received, response) => {
      const count = receiver.received.length;
      response.writeHead(count < 3 ? 500 : 200, { 'x-count': count, 'set-cookie': 'secret=1' }).end(`answer ${count}`);
    };
    const [event] = happen({ orderId: 1 });
    await until(async () => (await deliveries())[0]?.attempts.length === 2);
    const { request, response, ...delivery } = await details();
    expect([delivery]).toEqual([{ ...(await deliveries())[0], attempts: delivery.attempts }]);
    const { headers, body } = receiver.received[1]!;
    expect(request?.headers).toEqual({ ...Object.fromEntries(Object.keys(request?.headers ?? {}).map((name) => [name, headers[name]])), 'webhook-signature': '[redacted]' });
    expect(Object.keys(request?.headers ?? {})).toEqual(['content-type', 'user-agent', 'webhook-id', 'webhook-timestamp', 'webhook-signature']);
    expect([request?.body, body]).toEqual([event!.body, event!.body]);
    expect(response).toMatchObject({ headers: { 'x-count': '2', 'set-cookie': '[redacted]' }, body: 'answer 2' });
    await allDelivered(1);
    expect(await details()).toEqual({ ...(await deliveries())[0], attempts: expect.any(Array), request: expect.objectContaining({ body: event!.body }) });
    const resent = await shop.call(notifications.resendDelivery, { webhookId: webhook.id, deliveryId: delivery.id }, principal);
    expect(resent).not.toHaveProperty('request');
  });

  it('show each attempt with what it sent, signed, and the beginning of its answer (slow)', async () => {
    receiver.answer = (_received, response) => {
      const count = receiver.received.length;
      if (count === 2) response.writeHead(503).end();
      else response.writeHead(count < 3 ? 500 : 200, { 'x-request-id': `r-${count}`, 'x-count': count, 'set-cookie': 'a=1', 'content-length': 8 }).end(`answer ${count}`);
    };
    happen({ orderId: 1 });
    await allDelivered(1);
    const [{ id, ...listed }] = (await deliveries()) as [Delivery];
    expect(listed).toMatchObject({ eventType: 'order.status_changed', createdAt: expect.any(String) });
    expect(listed).not.toHaveProperty('attemptsLeft');
    const { attempts } = await shop.call(notifications.getDelivery, { webhookId: webhook.id, deliveryId: id }, principal);
    expect(attempts).toMatchObject(listed.attempts);
    const { headers } = attempts[0]!.request!;
    expect(Object.keys(headers)).toEqual(['content-type', 'user-agent', 'webhook-id', 'webhook-timestamp', 'webhook-signature']);
    expect(receiver.received[0]!.headers).toMatchObject(headers);
    for (const [n, { request }] of attempts.entries()) new Webhook(webhook.secret).verify(receiver.received[n]!.body, request!.headers);
    expect(attempts.map(({ response }) => response)).toEqual([
      { headers: { 'x-request-id': 'r-1' }, body: 'answer 1' },
      undefined,
      { headers: { 'x-request-id': 'r-3' }, body: 'answer 3' },
    ]);
    await shop.call(notifications.rotateWebhookSecret, { webhookId: webhook.id, rotation: { graceSeconds: 0 } }, principal);
    await shop.sql.query(`UPDATE webhook_secrets SET created_at = created_at + interval '1 minute' WHERE webhook_id = $1`, [webhook.id]);
    const [later] = (await shop.call(notifications.getDelivery, { webhookId: webhook.id, deliveryId: id }, principal)).attempts;
    expect(later!.request!.headers).not.toHaveProperty('webhook-signature');
  });

  it('hide other users’ orders from a credential that may not read them (slow)', async () => {
    const clerk = staff(owner);
    const all = await shop.create(receiver.url, {}, clerk);
    answer(500);
    shop.happen({ orderId: 1, owner: 999 });
    await until(async () => (await shop.deliveries(all, clerk))[0]?.attempts.length === 1);
    const [{ id }] = (await shop.deliveries(all, clerk)) as [Delivery];
    const read = (as: Principal): Promise<DeliveryDetails> => shop.call(notifications.getDelivery, { webhookId: all.id, deliveryId: id }, as);
    expect(await read(clerk)).toMatchObject({ request: { body: expect.any(String) }, response: { body: '' } });
    const without = await read(principal);
    expect([without.request, without.response]).toEqual([undefined, undefined]);
    // There may be more of them by then.
    expect((await shop.deliveries(all, clerk))[0]!.attempts.slice(0, without.attempts.length)).toEqual(without.attempts);
    await expect(read(customer(998))).rejects.toMatchObject({ code: 'webhook-not-found' });
    await expect(shop.call(notifications.getDelivery, { webhookId: all.id, deliveryId: 999_999 }, clerk)).rejects.toMatchObject({ code: 'delivery-not-found' });
  });

  it('show when they are retried', async () => {
    answer(500);
    happen({ orderId: 1 });
    await until(async () => (await deliveries())[0]?.attempts.length === 2);
    const [{ attempts, nextAttemptAt, attemptsLeft, state }] = (await deliveries()) as [Delivery];
    expect([state, attemptsLeft]).toEqual(['pending', 8]);
    const pause = Date.parse(nextAttemptAt!) - Date.parse(attempts[1]!.at);
    expect(pause).toBeGreaterThanOrEqual(1_080);
  });

  it('are sent in order per order, while other orders proceed (slow)', async () => {
    let isUp = false;
    receiver.answer = ({ body }, response) => response.writeHead(isUp || !body.includes('"orderId":1,') ? 200 : 500).end();
    const first = happen({ orderId: 1, newStatus: 'approved' }, { orderId: 2, newStatus: 'approved' });
    await until(async () => (await deliveries()).some(({ attempts }) => attempts.length === 2));
    const later = happen({ orderId: 1, newStatus: 'delivered' }, { orderId: 2, newStatus: 'delivered' }, { orderId: 1, newStatus: 'cancelled' });
    await until(() => receiver.ids.includes(later[1]!.id));
    expect(idsOf(1)).not.toContain(later[0]!.id);
    isUp = true;
    await allDelivered(5);
    expect([...new Set(idsOf(1))]).toEqual([first[0]!.id, later[0]!.id, later[2]!.id]);
    expect((await shop.sql.query('SELECT 1 FROM webhook_lanes WHERE webhook_id = $1', [webhook.id])).rowCount).toBe(0);
  });

  it('wait for Retry-After, like all other deliveries to the receiver (slow)', async () => {
    receiver.answer = (_received, response) => {
      if (receiver.received.length === 1) response.writeHead(429, { 'retry-after': '1' }).end();
      else response.writeHead(200).end();
    };
    happen({ orderId: 1 });
    await until(async () => (await deliveries())[0]?.attempts.length === 1);
    happen({ orderId: 2 });
    await allDelivered(2);
    const [first, second] = receiver.received.map(({ at }) => at) as [number, number];
    expect(second - first).toBeGreaterThanOrEqual(990);
  });

  it('are held after a 410, which disables the endpoint, and sent in order when it is enabled again', async () => {
    answer(410);
    const [first] = happen({ orderId: 1 });
    await until(async () => (await endpoint()).state === 'disabled');
    expect(await endpoint()).toMatchObject({ disabledReason: 'gone' });
    const later = happen({ orderId: 1 }, { orderId: 1 }, { orderId: 2 });
    await until(async () => (await states()).length === 4);
    expect(await states()).toEqual(['held', 'held', 'held', 'held']);
    expect((await deliveries()).filter(({ nextAttemptAt }) => nextAttemptAt !== undefined)).toEqual([]);
    expect(receiver.received).toHaveLength(1);
    answer(200);
    expect(await shop.replace(webhook, { state: 'enabled' }, principal)).not.toHaveProperty('disabledReason');
    await allDelivered(4);
    expect(idsOf(1)).toEqual([first!.id, first!.id, later[0]!.id, later[1]!.id]);
  });

  it('are held while the owner has disabled the endpoint (slow)', async () => {
    await shop.replace(webhook, { state: 'disabled' }, principal);
    const events = happen(...Array.from({ length: 20 }, (_, n) => ({ orderId: 1 + (n % 2) })));
    await until(async () => (await states()).filter((state) => state === 'held').length === 20);
    expect(receiver.received).toEqual([]);
    await shop.replace(webhook, { state: 'enabled' }, principal);
    await allDelivered(20);
    for (const order of [1, 2]) expect(idsOf(order)).toEqual(events.filter((_event, n) => 1 + (n % 2) === order).map(({ id }) => id));
  });

  it('fail after they were held for 30 days (slow)', async () => {
    await shop.replace(webhook, { state: 'disabled' }, principal);
    happen({ orderId: 1 }, { orderId: 1 });
    await until(async () => (await states()).length === 2);
    const passed = (days: number): Promise<unknown> =>
      shop.sql.query(
        `UPDATE webhook_deliveries SET created_at = created_at - $2 * interval '1 day' WHERE webhook_id = $1`,
        [webhook.id, days],
      );
    await passed(40);
    // Like a delivery of a worker that was killed.
    await shop.sql.query(
      `UPDATE webhook_deliveries SET lease = gen_random_uuid(), due_at = now()
       WHERE id = (SELECT min(id) FROM webhook_deliveries WHERE webhook_id = $1)`,
      [webhook.id],
    );
    // They are old, but have been held for a moment only.
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(await states()).toEqual(['held', 'held']);
    await shop.sql.query(`UPDATE webhooks SET state_since = state_since - interval '31 days' WHERE id = $1`, [webhook.id]);
    await until(async () => (await states()).join() === 'failed,failed');
    expect((await deliveries())[0]?.attempts).toEqual([{ at: expect.any(String), durationMs: 0, error: expect.stringContaining('Held for too long') }]);
    expect((await shop.sql.query('SELECT 1 FROM webhook_lanes WHERE webhook_id = $1', [webhook.id])).rowCount).toBe(0);
  });
});

describe('deliveries, a million times as fast', () => {
  running(0.000_001);

  it('fail after ten attempts, and the next of the order is sent (slow)', async () => {
    const [bad, good] = happen({ orderId: 1 }, { orderId: 1, newStatus: 'delivered' });
    receiver.answer = ({ headers }, response) => response.writeHead(headers['webhook-id'] === bad!.id ? 400 : 200).end();
    await until(async () => (await states()).join() === 'delivered,failed');
    expect(receiver.ids.indexOf(good!.id)).toBe(10);
    const { attempts, nextAttemptAt } = (await deliveries())[1]!;
    expect([attempts.length, nextAttemptAt]).toEqual([10, undefined]);
  });

  it('disable an endpoint that has failed for days when one has used up its attempts (slow)', async () => {
    answer(500);
    happen({ orderId: 1 });
    await until(async () => (await states()).includes('failed'));
    expect(await endpoint()).toMatchObject({ state: 'enabled', failingSince: expect.any(String), lastError: 'The receiver answered 500.' });
    await sixDaysPass();
    happen({ orderId: 2 });
    await until(async () => (await endpoint()).state === 'disabled');
    expect(await endpoint()).toMatchObject({ disabledReason: 'failing' });
  });

  it('do not disable an endpoint that had a success in between (slow)', async () => {
    receiver.answer = ({ body }, response) => response.writeHead(body.includes('"orderId":2,') ? 200 : 500).end();
    happen({ orderId: 1 });
    await until(async () => (await states()).includes('failed'));
    await sixDaysPass();
    happen({ orderId: 2 });
    await until(async () => (await states()).includes('delivered'));
    for (const name of ['failingSince', 'lastError']) expect(await endpoint()).not.toHaveProperty(name);
    happen({ orderId: 3 });
    await until(async () => (await states()).filter((one) => one === 'failed').length === 2);
    expect(await endpoint()).toMatchObject({ state: 'enabled' });
  });

  it('are listed newest first, by state, page by page (slow)', async () => {
    receiver.answer = ({ body }, response) => response.writeHead(body.includes('"orderId":1,') ? 500 : 200).end();
    happen({ orderId: 1 }, { orderId: 2 }, { orderId: 3 }, { orderId: 4 }, { orderId: 5 });
    await allEnded(5);
    const all = await deliveries();
    expect(all.map(({ id }) => id)).toEqual([...all.map(({ id }) => id)].sort((a, b) => b - a));
    const of = (state: Delivery['state']) => shop.call(notifications.listDeliveries, { webhookId: webhook.id, state }, principal);
    expect((await of('failed')).map(({ orderId }) => orderId)).toEqual([1]);
    expect((await of('delivered')).map(({ orderId }) => orderId)).toEqual([5, 4, 3, 2]);
    expect([await of('pending'), await of('held')]).toEqual([[], []]);
    const page = await shop.caller.client.callRaw(notifications.listDeliveries, { webhookId: webhook.id, limit: 3 }, contextFor(principal));
    const rest = await shop.call(notifications.listDeliveries, { webhookId: webhook.id, limit: 3, cursor: page.next! }, principal);
    expect([...(JSON.parse(Buffer.from(page.payload).toString()) as Delivery[]), ...rest]).toEqual(all);
    await expect(
      shop.call(notifications.listDeliveries, { webhookId: webhook.id, state: 'failed', cursor: page.next! }, principal),
    ).rejects.toMatchObject({ code: 'invalid-cursor' });
  });

  it('are deleted after the retention period', async () => {
    happen({ orderId: 1 }, { orderId: 2 });
    await allEnded(2);
    await shop.sql.query(`UPDATE webhook_deliveries SET ended_at = ended_at - interval '31 days' WHERE webhook_id = $1 AND order_id = 1`, [webhook.id]);
    await until(async () => (await deliveries()).length === 1);
    expect((await deliveries()).map(({ orderId }) => orderId)).toEqual([2]);
  });
});
