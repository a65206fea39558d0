import { describe, expect, it } from '@jest/globals';
import { notifications } from '@plant-shop/contracts/notifications';
import { permissionsOfRole } from '@plant-shop/contracts/permissions';
import type { Received } from '@plant-shop/testing/receiver';
import { until } from '@plant-shop/testing/until';
import { Webhook } from 'standardwebhooks';
import { WebhookOwner } from '../webhook-owner.spec.fixture.js';
import { staff } from '../webhooks.spec.fixture.js';

const owner = WebhookOwner.ofEachTest();

describe('sending to webhooks', () => {
  it('sends an event to its receiver, signed, with the bytes of the stream', async () => {
    const { secret, ...webhook } = await owner.create({ description: 'To the warehouse' });
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const [event] = owner.happen({ orderId: 11 });
    await until(() => owner.receiver.received.length === 1);
    const [{ body, headers, path }] = owner.receiver.received as [Received];
    expect({ path, body }).toEqual({ path: '/hook', body: event!.body });
    expect(headers).toMatchObject({ 'webhook-id': event!.id, 'content-type': 'application/json', 'user-agent': 'plant-shop-webhooks/1' });
    expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(event!.body));
    await owner.allEnded(webhook, 1);
    expect(await owner.deliveries(webhook)).toEqual([
      {
        id: expect.any(Number),
        eventId: event!.id,
        orderId: 11,
        eventType: 'order.status_changed',
        createdAt: expect.any(String),
        state: 'delivered',
        attempts: [{ at: expect.any(String), status: 204, durationMs: expect.any(Number) }],
      },
    ]);
  });

  it.each([-10, 10])('signs with the right time when the clock of identity is set off by %i minutes (slow)', async (minutes) => {
    const setClock = async (aheadMs: number): Promise<void> => {
      owner.shop.identityAheadMs = aheadMs;
      // The next read of the revocation log has the new time.
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    };
    await owner.create();
    owner.happen({ orderId: 11 });
    await until(() => owner.receiver.received.length === 1);
    await setClock(minutes * 60_000);
    owner.happen({ orderId: 12 });
    await until(() => owner.receiver.received.length === 2);
    const [, { headers }] = owner.receiver.received as [Received, Received];
    const aheadMs = Number(headers['webhook-timestamp']) * 1_000 - Date.now();
    await setClock(0);
    expect(Math.abs(aheadMs)).toBeLessThan(5_000);
  });

  it('covers the events that match the endpoint’s filters, of the owner’s orders only', async () => {
    const [all, order, plant] = await Promise.all([owner.create(), owner.create({ orderId: 5 }), owner.create({ plantId: 8 })]);
    owner.happen({ orderId: 5, plantId: 7 }, { orderId: 6, plantId: 8 }, { orderId: 5, plantId: 8 }, { orderId: 7, plantId: 7 });
    owner.shop.happen({ orderId: 5, plantId: 8, owner: 999 });
    await Promise.all([owner.allEnded(all, 4), owner.allEnded(order, 2), owner.allEnded(plant, 2)]);
  });

  it('covers status changes to the endpoint’s statuses, and all events of its other types, also in a replay and after a change (slow)', async () => {
    const all = await owner.create();
    const filtered = await owner.create({ eventTypes: ['order.status_changed', 'order.placed'], newStatuses: ['approved', 'cancelled'] });
    const [placed, approved, , cancelled] = owner.happen({ orderId: 1, type: 'order.placed' }, { orderId: 1 }, { orderId: 1, newStatus: 'delivered' }, { orderId: 2, newStatus: 'cancelled' });
    const expected = [placed, approved, cancelled].map((event) => event!.id);
    await Promise.all([owner.allEnded(all, 3), owner.allEnded(filtered, 3)]);
    const sent = async (): Promise<string[]> => (await owner.deliveries(filtered)).map(({ eventId }) => eventId).reverse();
    expect(await sent()).toEqual(expected);
    expect(await owner.replay(filtered.id)).toEqual({ scheduled: 3 });
    await owner.allEnded(filtered, 6);
    expect(await sent()).toEqual([...expected, ...expected]);
    await owner.replace(filtered, { newStatuses: ['delivered'] });
    expect(await owner.replay(filtered.id)).toEqual({ scheduled: 2 });
    await owner.replace(filtered, {});
    expect(await owner.get(filtered.id)).not.toHaveProperty('newStatuses');
  });

  it('covers the statuses of all orders for an endpoint that sees them', async () => {
    const { shop, receiver } = owner;
    const clerk = staff(owner.no);
    shop.users.set(clerk.subject, permissionsOfRole.staff);
    await shop.create(receiver.url, { newStatuses: ['delivered'] }, clerk);
    const [, wanted] = shop.happen({ orderId: 1, owner: 998 }, { orderId: 1, owner: 998, newStatus: 'delivered' });
    await until(() => receiver.received.length === 1);
    expect(receiver.ids).toEqual([wanted!.id]);
  });

  it('covers all orders while the owner may see them (slow)', async () => {
    const { shop, receiver } = owner;
    const clerk = staff(owner.no);
    shop.users.set(clerk.subject, permissionsOfRole.staff);
    const webhook = await shop.create(receiver.url, {}, clerk);
    shop.happen({ orderId: 1, owner: owner.no }, { orderId: 2, owner: 998 });
    await until(() => receiver.received.length === 2);
    receiver.answer = (_received, response) => setTimeout(() => response.writeHead(500).end(), 30);
    shop.users.set(clerk.subject, permissionsOfRole.customer);
    shop.revocations.push({ position: shop.revocations.length + 1, kind: 'userChanged', id: clerk.subject });
    await until(async () => (await shop.sql.query('SELECT 1 FROM webhooks WHERE id = $1 AND NOT sees_all', [webhook.id])).rowCount === 1);
    receiver.answer = (_received, response) => response.writeHead(204).end();
    shop.happen({ orderId: 3, owner: 998 }, { orderId: 4, owner: owner.no });
    await until(() => receiver.received.length === 3);
    expect(receiver.received.map(({ body }) => /"orderId":(\d+)/.exec(body)?.[1])).toEqual(['1', '2', '4']);
    // Lists show deliveries of own orders only, too.
    expect((await shop.deliveries(webhook, clerk)).map(({ orderId }) => orderId)).toEqual([4, 1]);
    // It resumes with the permission, also without an entry in the revocation log.
    shop.users.set(clerk.subject, permissionsOfRole.staff);
    await until(async () => (await shop.sql.query('SELECT 1 FROM webhooks WHERE id = $1 AND sees_all', [webhook.id])).rowCount === 1);
  });

  it('drops waiting deliveries of other users’ orders when the owner may no longer see them (slow)', async () => {
    const { shop } = owner;
    const clerk = staff(owner.no);
    shop.users.set(clerk.subject, permissionsOfRole.staff);
    const webhook = await shop.create(owner.receiver.url, {}, clerk);
    await shop.replace(webhook, { state: 'disabled' }, clerk);
    shop.happen({ orderId: 1, owner: 998 }, { orderId: 1, owner: owner.no });
    await until(async () => (await shop.deliveries(webhook, clerk)).length === 2);
    shop.users.set(clerk.subject, permissionsOfRole.customer);
    await until(async () => (await shop.sql.query('SELECT 1 FROM webhooks WHERE id = $1 AND NOT sees_all', [webhook.id])).rowCount === 1);
    await shop.replace(webhook, { state: 'enabled' }, clerk);
    // The order changed hands: the owner's event does not wait for the other user's.
    await until(() => owner.receiver.received.length === 1);
    expect((await shop.deliveries(webhook, clerk)).length).toBe(1);
    const { rows } = await shop.sql.query<{ state: string }>('SELECT state FROM webhook_deliveries WHERE webhook_id = $1 AND of_others', [webhook.id]);
    expect(rows).toEqual([{ state: 'failed' }]);
  });

  it('does not repeat an event that gets a second number', async () => {
    const webhook = await owner.create();
    const [event] = owner.happen({ orderId: 1 });
    await owner.allEnded(webhook, 1);
    const late = await owner.create();
    owner.shop.happenAgain(event!);
    await owner.allEnded(late, 1);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await owner.deliveries(webhook)).toHaveLength(1);
    expect(owner.receiver.ids).toEqual([event!.id, event!.id]);
  });

  it('ends when the endpoint or its owner is deleted (slow)', async () => {
    const { shop } = owner;
    const [webhook, other] = await Promise.all([owner.create(), owner.create()]);
    owner.receiver.answer = (_received, response) => response.writeHead(500).end();
    await owner.call(notifications.deleteWebhook, { webhookId: webhook.id });
    owner.happen({ orderId: 1 });
    await owner.allEnded(other, 1);
    await expect(owner.get(webhook.id)).rejects.toMatchObject({ code: 'webhook-not-found' });
    shop.users.set(owner.principal.subject, undefined);
    shop.revocations.push({ position: shop.revocations.length + 1, kind: 'user', id: owner.principal.subject });
    await until(async () => (await owner.call(notifications.listWebhooks, {})).length === 0);
    const left = async (): Promise<number | null> =>
      (await shop.sql.query('SELECT 1 FROM webhook_deliveries WHERE webhook_id = ANY($1)', [[webhook.id, other.id]])).rowCount;
    await until(async () => (await left()) === 0);
    await shop.sql.query(`UPDATE webhooks SET state_since = state_since - interval '2 minutes' WHERE owner_id = $1`, [owner.principal.subject]);
    await until(async () => (await shop.sql.query('SELECT 1 FROM webhooks WHERE owner_id = $1', [owner.principal.subject])).rowCount === 0);
  });
});

describe('a test event', () => {
  it('is signed and sent at once', async () => {
    const { id, secret } = await owner.create();
    const delivery = await owner.call(notifications.testWebhook, { webhookId: id });
    expect(delivery).toEqual({ id: expect.any(Number), eventId: expect.any(String), state: 'pending', attempts: [], nextAttemptAt: expect.any(String), eventType: 'webhook.test', createdAt: expect.any(String), attemptsLeft: 10 });
    await until(() => owner.receiver.received.length === 1);
    const [{ body, headers }] = owner.receiver.received as [Received];
    expect(new Webhook(secret).verify(body, headers)).toEqual({ event: 'webhook.test', timestamp: expect.any(String), data: { webhookId: id } });
    expect(headers['webhook-id']).toBe(delivery.eventId);
    await owner.replace({ ...(await owner.get(id)) }, { state: 'disabled' });
    await expect(owner.call(notifications.testWebhook, { webhookId: id })).rejects.toMatchObject({ code: 'webhook-disabled' });
  });
});
