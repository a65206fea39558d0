import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Delivery, notifications, type ReplayRange, type RotatedSecret } from '@plant-shop/contracts/notifications';
import type { Operation } from '@plant-shop/platform/rpc/operation';
import type { Principal } from '@plant-shop/platform/rpc/principal';
import { sampleOf, shapeOf } from '@plant-shop/testing/samples';
import { contextFor } from '@plant-shop/testing/service';
import { until } from '@plant-shop/testing/until';
import { Webhook } from 'standardwebhooks';
import { encodeCursor } from '../stream/cursor.js';
import { type Change, customer, epoch, Receiver, staff, TestWebhooks } from './webhooks.spec.fixture.js';

const unknown = '00000000-0000-4000-8000-00000000abcd';

describe('webhooks', () => {
  let shop: TestWebhooks;
  let receiver: Receiver;
  /** A customer for each test. */
  let owner = 0;
  let principal: Principal;
  beforeAll(async () => {
    shop = await TestWebhooks.start({ timeScale: 0.000_001, perUser: 3, ownersMs: 100 });
  });
  afterAll(() => shop.stop());
  beforeEach(async () => {
    principal = customer(++owner);
    receiver = await Receiver.start();
  });
  afterEach(() => receiver.stop());

  const create = (given: object = {}) => shop.create(receiver.url, given, principal);
  const happen = (...changes: readonly Change[]) => shop.happen(...changes.map((one) => ({ owner, ...one })));
  const deliveries = (webhook: { id: string }) => shop.deliveries(webhook, principal);
  const get = (webhookId: string, as = principal) => shop.call(notifications.getWebhook, { webhookId }, as);
  const rotate = (webhookId: string, graceSeconds?: number): Promise<RotatedSecret> =>
    shop.call(notifications.rotateWebhookSecret, { webhookId, rotation: graceSeconds === undefined ? {} : { graceSeconds } }, principal);
  const resend = (webhookId: string, deliveryId: number) => shop.call(notifications.resendDelivery, { webhookId, deliveryId }, principal);
  const replay = (webhookId: string, range: ReplayRange = {}) => shop.call(notifications.replayEvents, { webhookId, replay: range }, principal);
  const allEnded = (webhook: { id: string }, count: number): Promise<void> =>
    until(async () => {
      const now = await deliveries(webhook);
      return now.length === count && now.every(({ state }) => state === 'delivered' || state === 'failed');
    });
  /** Twice with the same Idempotency-Key. */
  const twice = async <Payload, Answer>(operation: Operation<Payload, Answer>, payload: Payload): Promise<Answer[]> => {
    const key = `key of ${owner}`;
    const answers = [];
    for (const replayed of [undefined, true]) {
      const raw = await shop.caller.client.callRaw(operation, payload, contextFor(principal), key);
      expect(raw.replayed).toBe(replayed);
      answers.push(JSON.parse(Buffer.from(raw.payload).toString()) as Answer);
    }
    return answers;
  };

  describe('sending', () => {
    it('brings an event to its receiver, signed, with the bytes of the stream', async () => {
      const { secret, ...webhook } = await create({ description: 'To the warehouse' });
      expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
      const [event] = happen({ orderId: 11 });
      await until(() => receiver.received.length === 1);
      const [{ body, headers, path }] = receiver.received as [Receiver['received'][0]];
      expect({ path, body }).toEqual({ path: '/hook', body: event!.body });
      expect(headers).toMatchObject({ 'webhook-id': event!.id, 'content-type': 'application/json', 'user-agent': 'plant-shop-webhooks/1' });
      expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(event!.body));
      await allEnded(webhook, 1);
      expect(await deliveries(webhook)).toEqual([
        {
          id: expect.any(Number),
          eventId: event!.id,
          orderId: 11,
          state: 'delivered',
          attempts: [{ at: expect.any(String), status: 204, durationMs: expect.any(Number) }],
        },
      ]);
    });

    it('is of what the endpoint asks for, and of the owner’s orders only', async () => {
      const [all, order, plant] = await Promise.all([create(), create({ orderId: 5 }), create({ plantId: 8 })]);
      happen({ orderId: 5, plantId: 7 }, { orderId: 6, plantId: 8 }, { orderId: 5, plantId: 8 }, { orderId: 7, plantId: 7 });
      shop.happen({ orderId: 5, plantId: 8, owner: 999 });
      await Promise.all([allEnded(all, 4), allEnded(order, 2), allEnded(plant, 2)]);
    });

    it('is of all orders for whoever may see them, and when that ends, so does it', async () => {
      const clerk = staff(++owner);
      shop.users.set(clerk.subject, clerk.permissions as never);
      const webhook = await shop.create(receiver.url, {}, clerk);
      shop.happen({ orderId: 1, owner }, { orderId: 2, owner: 998 });
      await until(() => receiver.received.length === 2);
      receiver.answer = (_received, response) => setTimeout(() => response.writeHead(500).end(), 30);
      shop.users.set(clerk.subject, customer(1).permissions as never);
      shop.revocations.push({ position: shop.revocations.length + 1, kind: 'userChanged', id: clerk.subject });
      await until(async () => (await shop.sql.query('SELECT 1 FROM webhooks WHERE id = $1 AND NOT sees_all', [webhook.id])).rowCount === 1);
      receiver.answer = (_received, response) => response.writeHead(204).end();
      shop.happen({ orderId: 3, owner: 998 }, { orderId: 4, owner });
      await until(() => receiver.received.length === 3);
      expect(receiver.received.map(({ body }) => /"orderId":(\d+)/.exec(body)?.[1])).toEqual(['1', '2', '4']);
      // What is listed are one's own orders as well, and they cannot be sent again.
      expect((await shop.deliveries(webhook, clerk)).map(({ orderId }) => orderId)).toEqual([4, 1]);
      // It comes back with the permission, also when nobody tells.
      shop.users.set(clerk.subject, clerk.permissions as never);
      await until(async () => (await shop.sql.query('SELECT 1 FROM webhooks WHERE id = $1 AND sees_all', [webhook.id])).rowCount === 1);
    });

    it('does not send what waits of the orders of others any more', async () => {
      const clerk = staff(++owner);
      shop.users.set(clerk.subject, clerk.permissions as never);
      const webhook = await shop.create(receiver.url, {}, clerk);
      await shop.replace(webhook, { state: 'disabled' }, clerk);
      shop.happen({ orderId: 1, owner: 998 }, { orderId: 1, owner });
      await until(async () => (await shop.deliveries(webhook, clerk)).length === 2);
      shop.users.set(clerk.subject, customer(1).permissions as never);
      await until(async () => (await shop.sql.query('SELECT 1 FROM webhooks WHERE id = $1 AND NOT sees_all', [webhook.id])).rowCount === 1);
      await shop.replace(webhook, { state: 'enabled' }, clerk);
      // The order was handed over: the owner's own event does not wait for the other's.
      await until(() => receiver.received.length === 1);
      expect((await shop.deliveries(webhook, clerk)).length).toBe(1);
      const { rows } = await shop.sql.query<{ state: string }>('SELECT state FROM webhook_deliveries WHERE webhook_id = $1 AND of_others', [webhook.id]);
      expect(rows).toEqual([{ state: 'failed' }]);
    });

    it('is never of an event that came a second time under another number', async () => {
      const webhook = await create();
      const [event] = happen({ orderId: 1 });
      await allEnded(webhook, 1);
      const late = await create();
      shop.happenAgain(event!);
      await allEnded(late, 1);
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(await deliveries(webhook)).toHaveLength(1);
      expect(receiver.ids).toEqual([event!.id, event!.id]);
    });

    it('ends when the endpoint or its owner is deleted', async () => {
      const [webhook, other] = await Promise.all([create(), create()]);
      receiver.answer = (_received, response) => response.writeHead(500).end();
      await shop.call(notifications.deleteWebhook, { webhookId: webhook.id }, principal);
      happen({ orderId: 1 });
      await allEnded(other, 1);
      await expect(get(webhook.id)).rejects.toMatchObject({ code: 'webhook-not-found' });
      shop.users.set(principal.subject, undefined);
      shop.revocations.push({ position: shop.revocations.length + 1, kind: 'user', id: principal.subject });
      await until(async () => (await shop.call(notifications.listWebhooks, {}, principal)).length === 0);
      const left = async (): Promise<number | null> =>
        (await shop.sql.query('SELECT 1 FROM webhook_deliveries WHERE webhook_id = ANY($1)', [[webhook.id, other.id]])).rowCount;
      await until(async () => (await left()) === 0);
      await shop.sql.query(`UPDATE webhooks SET state_since = state_since - interval '2 minutes' WHERE owner_id = $1`, [principal.subject]);
      await until(async () => (await shop.sql.query('SELECT 1 FROM webhooks WHERE owner_id = $1', [principal.subject])).rowCount === 0);
    });
  });

  describe('endpoints', () => {
    it('are read and listed as they were created, newest first, without the secret', async () => {
      const { secret, ...first } = await create({ orderId: 5, plantId: 7 });
      const { secret: another, ...second } = await create();
      expect(secret).not.toBe(another);
      expect(await get(first.id)).toEqual(first);
      expect(await shop.call(notifications.listWebhooks, {}, principal)).toEqual([second, first]);
      expect(await shop.call(notifications.listWebhooks, { limit: 1 }, principal)).toEqual([second]);
    });

    it('are replaced whole, and only as they were read', async () => {
      const webhook = await create({ orderId: 5, plantId: 7, description: 'Old' });
      const replaced = await shop.replace(webhook, { plantId: 8 }, principal);
      expect(replaced).toEqual({ id: webhook.id, url: webhook.url, eventTypes: webhook.eventTypes, plantId: 8, state: 'enabled', createdAt: webhook.createdAt });
      const wishes = { url: webhook.url, eventTypes: [...webhook.eventTypes] };
      await expect(
        shop.call(notifications.replaceWebhook, { webhookId: webhook.id, webhook: wishes, ifVersion: 1 }, principal),
      ).rejects.toMatchObject({ code: 'precondition-failed' });
      await expect(shop.call(notifications.deleteWebhook, { webhookId: webhook.id, ifVersion: 1 }, principal)).rejects.toMatchObject({ code: 'precondition-failed' });
      expect(await shop.call(notifications.deleteWebhook, { webhookId: webhook.id, ifVersion: 2 }, principal)).toEqual({ id: webhook.id });
    });

    it('are refused where they may not lead, with what is wrong', async () => {
      const urls = ['http://10.0.0.1/', 'https://metadata.google.internal/', 'http://user:secret@127.0.0.1/', 'http://169.254.169.254/latest'];
      const webhook = await create();
      for (const url of urls) {
        const refusal = { code: 'invalid-input', details: { errors: [{ pointer: '/webhook/url', detail: expect.stringMatching(/^must not/) }] } };
        await expect(shop.create(url, {}, principal)).rejects.toMatchObject(refusal);
        await expect(shop.replace(webhook, { url }, principal)).rejects.toMatchObject(refusal);
      }
    });

    it('are their owner’s alone', async () => {
      const { id: webhookId } = await create();
      const stranger = staff(997);
      const calls = [
        get(webhookId, stranger),
        get(unknown),
        shop.call(notifications.replaceWebhook, { webhookId, webhook: { url: receiver.url, eventTypes: ['order.status_changed'] } }, stranger),
        shop.call(notifications.deleteWebhook, { webhookId }, stranger),
        shop.call(notifications.rotateWebhookSecret, { webhookId, rotation: {} }, stranger),
        shop.call(notifications.testWebhook, { webhookId }, stranger),
        shop.call(notifications.listDeliveries, { webhookId }, stranger),
        shop.call(notifications.resendDelivery, { webhookId, deliveryId: 1 }, stranger),
        shop.call(notifications.replayEvents, { webhookId, replay: {} }, stranger),
      ];
      await Promise.all(calls.map((one) => expect(one).rejects.toMatchObject({ code: 'webhook-not-found' })));
    });

    it('need the permission webhooks', async () => {
      const { id: webhookId } = await create();
      const without = { ...principal, permissions: ['write:orders', 'read:orders'] };
      const calls = [
        shop.create(receiver.url, {}, without),
        shop.call(notifications.listWebhooks, {}, without),
        get(webhookId, without),
        shop.call(notifications.replaceWebhook, { webhookId, webhook: { url: receiver.url, eventTypes: ['order.status_changed'] } }, without),
        shop.call(notifications.deleteWebhook, { webhookId }, without),
        shop.call(notifications.rotateWebhookSecret, { webhookId, rotation: {} }, without),
        shop.call(notifications.testWebhook, { webhookId }, without),
        shop.call(notifications.listDeliveries, { webhookId }, without),
        shop.call(notifications.resendDelivery, { webhookId, deliveryId: 1 }, without),
        shop.call(notifications.replayEvents, { webhookId, replay: {} }, without),
      ];
      await Promise.all(calls.map((one) => expect(one).rejects.toMatchObject({ code: 'forbidden' })));
    });

    it('are at most as many as a user may have, also when they are made at once', async () => {
      const results = await Promise.allSettled(Array.from({ length: 8 }, () => create()));
      const codes = results.map((one) => (one.status === 'fulfilled' ? 'ok' : (one.reason as { code: string }).code));
      expect(codes.sort()).toEqual(['ok', 'ok', 'ok', ...Array<string>(5).fill('too-many-webhooks')]);
      const [one] = await shop.call(notifications.listWebhooks, {}, principal);
      await shop.call(notifications.deleteWebhook, { webhookId: one!.id }, principal);
      await create();
    });

    it('are made once for an Idempotency-Key, and the answer has the secret again', async () => {
      const webhook = { url: receiver.url, eventTypes: ['order.status_changed' as const] };
      const [made, again] = await twice(notifications.createWebhook, { webhook });
      expect(again).toEqual(made);
      expect(await shop.call(notifications.listWebhooks, {}, principal)).toHaveLength(1);
    });
  });

  describe('secrets', () => {
    const signedBy = (received: Receiver['received'][0] | undefined, secret: string): boolean => {
      try {
        new Webhook(secret).verify(received!.body, received!.headers);
        return true;
      } catch {
        return false;
      }
    };

    it('both sign for the time of grace after a rotation, and then the new one alone', async () => {
      const { id, secret: old } = await create();
      const { secret, previousUntil } = await rotate(id, 3_600);
      expect(Math.abs(Date.parse(previousUntil) - Date.now() - 3_600_000)).toBeLessThan(10_000);
      happen({ orderId: 1 });
      await until(() => receiver.received.length === 1);
      expect([old, secret].map((one) => signedBy(receiver.received[0], one))).toEqual([true, true]);
      await shop.sql.query(`UPDATE webhook_secrets SET ends_at = now() WHERE webhook_id = $1 AND ends_at <> 'infinity'`, [id]);
      happen({ orderId: 2 });
      await until(() => receiver.received.length === 2);
      expect([old, secret].map((one) => signedBy(receiver.received[1], one))).toEqual([false, true]);
    });

    it('end at once without grace, and at most two sign', async () => {
      const { id, secret: first } = await create();
      const second = await rotate(id, 3_600);
      const third = await rotate(id, 3_600);
      happen({ orderId: 1 });
      await until(() => receiver.received.length === 1);
      expect([first, second.secret, third.secret].map((one) => signedBy(receiver.received[0], one))).toEqual([false, true, true]);
      const fourth = await rotate(id, 0);
      happen({ orderId: 2 });
      await until(() => receiver.received.length === 2);
      expect([second.secret, third.secret, fourth.secret].map((one) => signedBy(receiver.received[1], one))).toEqual([false, false, true]);
    });

    it('have a day of grace when none is said, and are rotated once for an Idempotency-Key', async () => {
      const { id } = await create();
      const [rotated, again] = await twice(notifications.rotateWebhookSecret, { webhookId: id, rotation: {} });
      expect(again).toEqual(rotated);
      expect(Math.abs(Date.parse(rotated!.previousUntil) - Date.now() - 86_400_000)).toBeLessThan(10_000);
    });

    it('are nowhere in the database', async () => {
      const { id, secret } = await create();
      const { secret: second } = await rotate(id);
      const tables = ['webhooks', 'webhook_secrets', 'webhook_queues', 'webhook_deliveries', 'idempotency_keys'];
      const rows = await Promise.all(tables.map((table) => shop.sql.query<{ all: string }>(`SELECT json_agg(t)::text AS all FROM ${table} t`)));
      const dump = rows.map((one) => one.rows[0]!.all).join('\n');
      expect(dump).toContain(id);
      for (const one of [secret, second]) {
        const bytes = Buffer.from(one.slice('whsec_'.length), 'base64');
        for (const form of [one.slice(6), bytes.toString('hex'), bytes.toString('base64'), Buffer.from(one).toString('base64').slice(0, 40)]) {
          expect(dump).not.toContain(form);
        }
      }
    });
  });

  describe('a test event', () => {
    it('comes signed and at once, whatever waits', async () => {
      const { id, secret } = await create();
      const delivery = await shop.call(notifications.testWebhook, { webhookId: id }, principal);
      expect(delivery).toEqual({ id: expect.any(Number), eventId: expect.any(String), state: 'pending', attempts: [], nextAttemptAt: expect.any(String) });
      await until(() => receiver.received.length === 1);
      const [{ body, headers }] = receiver.received as [Receiver['received'][0]];
      expect(new Webhook(secret).verify(body, headers)).toEqual({ event: 'webhook.test', timestamp: expect.any(String), data: { webhookId: id } });
      expect(headers['webhook-id']).toBe(delivery.eventId);
      await shop.replace({ ...(await get(id)) }, { state: 'disabled' }, principal);
      await expect(shop.call(notifications.testWebhook, { webhookId: id }, principal)).rejects.toMatchObject({ code: 'webhook-disabled' });
    });
  });

  describe('resending', () => {
    it('sends the same id and bytes once more, as a delivery of its own', async () => {
      const webhook = await create();
      const [event] = happen({ orderId: 1 });
      await allEnded(webhook, 1);
      const [original] = (await deliveries(webhook)) as [Delivery];
      const [copy, again] = await twice(notifications.resendDelivery, { webhookId: webhook.id, deliveryId: original.id });
      expect(again).toEqual(copy);
      expect(copy).toMatchObject({ eventId: event!.id, orderId: 1, attempts: [] });
      await allEnded(webhook, 2);
      expect(receiver.ids).toEqual([event!.id, event!.id]);
      expect(receiver.received[1]!.body).toBe(event!.body);
    });

    it('is refused for what is not there, of another endpoint, or disabled', async () => {
      const [webhook, other] = await Promise.all([create(), create()]);
      happen({ orderId: 1 });
      await Promise.all([allEnded(webhook, 1), allEnded(other, 1)]);
      const [foreign] = (await deliveries(other)) as [Delivery];
      await expect(resend(webhook.id, 999_999)).rejects.toMatchObject({ code: 'delivery-not-found' });
      await expect(resend(webhook.id, foreign.id)).rejects.toMatchObject({ code: 'delivery-not-found' });
      await shop.replace(other, { state: 'disabled' }, principal);
      await expect(resend(other.id, foreign.id)).rejects.toMatchObject({ code: 'webhook-disabled' });
    });
  });

  describe('a replay', () => {
    it('brings everything again, in order, to an endpoint that was not there when it happened', async () => {
      const before = await create();
      const events = happen(...Array.from({ length: 12 }, (_, n) => ({ orderId: 1 + (n % 3) })));
      await allEnded(before, 12);
      const webhook = await create();
      receiver.received.length = 0;
      expect(await replay(webhook.id)).toEqual({ scheduled: 12 });
      await allEnded(webhook, 12);
      expect([...receiver.ids].sort()).toEqual(events.map(({ id }) => id));
      for (const order of [0, 1, 2]) {
        const wanted = events.filter((_event, n) => n % 3 === order).map(({ id }) => id);
        expect(receiver.ids.filter((id) => wanted.includes(id))).toEqual(wanted);
      }
      expect(new Set(receiver.received.map(({ body }) => body))).toEqual(new Set(events.map(({ body }) => body)));
    });

    it('begins after a cursor or at a time, and ends before one', async () => {
      const webhook = await create();
      const events = happen({ orderId: 1 }, { orderId: 2 });
      await new Promise((resolve) => setTimeout(resolve, 5));
      const between = new Date().toISOString();
      events.push(...happen({ orderId: 3 }));
      await allEnded(webhook, 3);
      const fromCursor = encodeCursor({ epoch, seq: events[0]!.seq });
      expect(await replay(webhook.id, { fromCursor })).toEqual({ scheduled: 2 });
      expect(await replay(webhook.id, { since: between })).toEqual({ scheduled: 1 });
      expect(await replay(webhook.id, { until: between })).toEqual({ scheduled: 2 });
      expect(await replay(webhook.id, { fromCursor, until: between })).toEqual({ scheduled: 1 });
      const wrong = ['nonsense', encodeCursor({ epoch: unknown, seq: 1 }), encodeCursor({ epoch, seq: 1_000_000 })];
      for (const one of wrong) await expect(replay(webhook.id, { fromCursor: one })).rejects.toMatchObject({ code: 'invalid-cursor' });
    });

    it('brings only what has failed, and what did not arrive otherwise', async () => {
      const webhook = await create();
      receiver.answer = ({ body }, response) => response.writeHead(/"orderId":[12],/.test(body) ? 500 : 200).end();
      const events = happen({ orderId: 1 }, { orderId: 2 }, { orderId: 3 });
      await allEnded(webhook, 3);
      receiver.answer = (_received, response) => response.writeHead(200).end();
      const failed = (await deliveries(webhook)).find(({ eventId }) => eventId === events[1]!.id)!;
      await resend(webhook.id, failed.id);
      await allEnded(webhook, 4);
      receiver.received.length = 0;
      expect(await replay(webhook.id, { onlyFailed: true })).toEqual({ scheduled: 1 });
      await allEnded(webhook, 5);
      expect(receiver.ids).toEqual([events[0]!.id]);
      expect(await replay(webhook.id, { onlyFailed: true })).toEqual({ scheduled: 0 });
    });

    it('schedules at most 10,000 in one call, and says where to go on', async () => {
      // Nothing is to be sent: only what is scheduled matters.
      const webhook = await create();
      await shop.replace(webhook, { state: 'disabled' }, principal);
      await shop.log(10_500, owner);
      await shop.sql.query('DELETE FROM webhook_deliveries WHERE webhook_id = $1', [webhook.id]);
      const first = await replay(webhook.id);
      expect(first).toEqual({ scheduled: 10_000, cursor: expect.any(String) });
      expect(await replay(webhook.id, { fromCursor: first.cursor! })).toEqual({ scheduled: 500 });
    });
  });

  describe('deliveries', () => {
    it('are listed newest first, by state, page by page', async () => {
      const webhook = await create();
      receiver.answer = ({ body }, response) => response.writeHead(body.includes('"orderId":1,') ? 500 : 200).end();
      happen({ orderId: 1 }, { orderId: 2 }, { orderId: 3 }, { orderId: 4 }, { orderId: 5 });
      await allEnded(webhook, 5);
      const all = await deliveries(webhook);
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

    it('are kept as long as the setting says after their end', async () => {
      const webhook = await create();
      happen({ orderId: 1 }, { orderId: 2 });
      await allEnded(webhook, 2);
      await shop.sql.query(`UPDATE webhook_deliveries SET ended_at = ended_at - interval '31 days' WHERE webhook_id = $1 AND order_id = 1`, [webhook.id]);
      await until(async () => (await deliveries(webhook)).length === 1);
      expect((await deliveries(webhook)).map(({ orderId }) => orderId)).toEqual([2]);
    });
  });

  it('answer in the shapes of the contract’s samples', async () => {
    const same = <Payload, Answer>(operation: Operation<Payload, Answer>, answer: Answer): void => {
      expect([operation.name, shapeOf(answer)]).toEqual([operation.name, shapeOf(sampleOf(operation).answer)]);
    };
    const webhook = await create({ plantId: 7, description: 'To the warehouse' });
    same(notifications.createWebhook, webhook);
    same(notifications.getWebhook, await get(webhook.id));
    same(notifications.rotateWebhookSecret, await rotate(webhook.id));
    same(notifications.testWebhook, await shop.call(notifications.testWebhook, { webhookId: webhook.id }, principal));
    happen({ orderId: 1 });
    await allEnded(webhook, 2);
    same(notifications.resendDelivery, await resend(webhook.id, (await deliveries(webhook))[0]!.id));
    same(notifications.deleteWebhook, await shop.call(notifications.deleteWebhook, { webhookId: webhook.id }, principal));
  });
});

describe('secrets under a new key', () => {
  it('are sealed anew, and then the former key can go', async () => {
    const [former, present] = ['the former secret of 32 characters and more', 'the present secret of 32 characters and more'];
    const shop = await TestWebhooks.start({ replicas: 0 });
    const receiver = await Receiver.start();
    await shop.addReplica({}, { NOTIFICATIONS_SECRET: former });
    const { secret } = await shop.create(receiver.url);
    const [before] = (await shop.sql.query<{ key_id: string }>('SELECT key_id FROM webhook_secrets')).rows;
    await shop.stopReplicas();
    await shop.addReplica({}, { NOTIFICATIONS_SECRET: `${present}, ${former}` });
    const keys = async (): Promise<number | null> => (await shop.sql.query('SELECT DISTINCT key_id FROM webhook_secrets')).rowCount;
    await shop.create(receiver.url);
    await until(async () => (await keys()) === 1);
    await until(async () => (await shop.sql.query('SELECT 1 FROM webhook_secrets WHERE key_id = $1', [before!.key_id])).rowCount === 0);
    await shop.stopReplicas();
    await shop.addReplica({}, { NOTIFICATIONS_SECRET: present });
    const [event] = shop.happen({ orderId: 1 });
    await until(() => receiver.received.length === 2);
    const verified = receiver.received.flatMap(({ body, headers }) => {
      try {
        return [new Webhook(secret).verify(body, headers)];
      } catch {
        return [];
      }
    });
    expect(verified).toEqual([JSON.parse(event!.body)]);
    await shop.stop();
    await receiver.stop();
  });
});
