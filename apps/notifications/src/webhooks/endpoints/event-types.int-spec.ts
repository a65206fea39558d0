import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type EventType, eventTypes, isStockEvent } from '@plant-shop/contracts/events';
import { notifications } from '@plant-shop/contracts/notifications';
import { permissionsOfRole } from '@plant-shop/contracts/permissions';
import type { Principal } from '@plant-shop/platform/rpc/context';
import { Receiver } from '@plant-shop/testing/receiver';
import { until } from '@plant-shop/testing/until';
import { type Change, customer, staff, TestWebhooks } from '../webhooks.spec.fixture.js';

const life = (orderId: number, owner = 1): Change[] => [
  { orderId, owner, type: 'order.placed' },
  { orderId, owner },
  { orderId, owner, type: 'order.shipped' },
  { orderId, owner, newStatus: 'delivered' },
  { orderId, owner, type: 'refund.due' },
];
const orderTypes = eventTypes.filter((type) => !isStockEvent(type));
const typeOf = ({ body }: { readonly body: string }): string => (JSON.parse(body) as { event: string }).event;

describe('event types of webhooks', () => {
  let shop: TestWebhooks;
  let receivers: Receiver[];
  beforeEach(async () => {
    receivers = [];
    shop = await TestWebhooks.start({ replicas: 0 });
  });
  afterEach(async () => {
    await shop.stop();
    await Promise.all(receivers.map((one) => one.stop()));
  });

  const receiverOf = async (types: EventType[], principal = customer(1)): Promise<Receiver> => {
    const receiver = await Receiver.start();
    receivers.push(receiver);
    await shop.create(receiver.url, { eventTypes: types }, principal);
    return receiver;
  };
  const got = async (receiver: Receiver, expected: readonly { id: string }[]): Promise<void> => {
    await until(() => receiver.received.length >= expected.length, 20_000);
    expect([...receiver.ids].sort()).toEqual(expected.map(({ id }) => id).sort());
  };

  it('are those that the endpoint subscribes to, in order per order (slow)', async () => {
    await shop.addReplica();
    const [placed, everything, ofAll] = [
      await receiverOf(['order.placed']),
      await receiverOf(orderTypes),
      await receiverOf(['refund.due', 'order.placed'], staff(9)),
    ];
    const events = shop.happen(...life(1), ...life(2), ...life(3, 2));
    const own = events.slice(0, 10);
    await got(placed, own.filter((one) => typeOf(one) === 'order.placed'));
    await got(everything, own);
    await got(ofAll, events.filter((one) => ['order.placed', 'refund.due'].includes(typeOf(one))));
    for (const events of [own.slice(0, 5), own.slice(5)]) {
      const ids = events.map(({ id }) => id);
      expect(everything.ids.filter((id) => ids.includes(id))).toEqual(ids);
    }
    expect(everything.received.map(({ body }) => body).sort()).toEqual(own.map(({ body }) => body).sort());
  });

  it('of stock go to endpoints whose owners may read stock, now and in a replay, and to no others (slow)', async () => {
    await shop.addReplica();
    const keeper: Principal = { ...customer(5), permissions: ['webhooks', 'read:stock'] };
    shop.users.set(keeper.subject, ['webhooks', 'read:stock']);
    shop.users.set(staff(9).subject, permissionsOfRole.staff);
    const all = [...eventTypes];
    const [ofKeeper, ofStaff, ofStock] = [await receiverOf(all, keeper), await receiverOf(all, staff(9)), await receiverOf(['stock.out', 'stock.low'], staff(9))];
    await expect(receiverOf(['stock.out'])).rejects.toMatchObject({ code: 'forbidden' });
    const plain = await shop.create(ofKeeper.url);
    await expect(shop.replace(plain, { eventTypes: ['stock.out'] })).rejects.toMatchObject({ code: 'forbidden' });
    const events = shop.happen({ orderId: 1, owner: 2 }, { orderId: 0, type: 'stock.low' }, { orderId: 2, owner: 5 }, { orderId: 0, type: 'stock.out' }, { orderId: 0, type: 'stock.back' });
    await got(ofStaff, events);
    await got(ofKeeper, events.slice(1));
    await got(ofStock, [events[1]!, events[3]!]);
    const [webhook] = await shop.call(notifications.listWebhooks, {}, keeper);
    const deliveries = await shop.deliveries(webhook!, keeper);
    expect(deliveries.map(({ orderId }) => orderId)).toEqual([undefined, undefined, 2, undefined]);
    const details = (as: Principal) => shop.call(notifications.getDelivery, { webhookId: webhook!.id, deliveryId: deliveries[0]!.id }, as);
    await until(async () => (await details(keeper)).request !== undefined);
    expect(await details(customer(5))).not.toHaveProperty('request');
    ofKeeper.received.length = 0;
    expect(await shop.call(notifications.replayEvents, { webhookId: webhook!.id, replay: {} }, keeper)).toEqual({ scheduled: 4 });
    await got(ofKeeper, events.slice(1));
  });

  it('of stock end when the owner may no longer read stock, also those that wait (slow)', async () => {
    await shop.addReplica();
    const keeper: Principal = { ...customer(5), permissions: ['webhooks', 'read:stock'] };
    shop.users.set(keeper.subject, ['webhooks', 'read:stock']);
    const receiver = await receiverOf(['stock.out', 'order.placed'], keeper);
    receiver.answer = (_received, response) => response.writeHead(500).end();
    shop.happen({ orderId: 0, type: 'stock.out' });
    await until(() => receiver.received.length === 1);
    shop.users.set(keeper.subject, ['webhooks']);
    shop.revoke('userChanged', keeper.subject);
    await until(async () => (await shop.sql.query('SELECT 1 FROM webhooks WHERE sees_stock')).rowCount === 0);
    receiver.answer = (_received, response) => response.writeHead(204).end();
    await shop.sql.query('UPDATE webhook_deliveries SET due_at = now() WHERE due_at IS NOT NULL');
    await shop.sql.query('UPDATE webhook_queues SET turn_at = now()');
    const [, own] = shop.happen({ orderId: 0, type: 'stock.out' }, { orderId: 3, owner: 5, type: 'order.placed' });
    await until(() => receiver.received.length === 2);
    expect(receiver.ids.at(-1)).toBe(own!.id);
    const [webhook] = await shop.call(notifications.listWebhooks, {}, keeper);
    await until(async () => (await shop.deliveries(webhook!, keeper)).every(({ state }) => state !== 'pending'));
    expect((await shop.deliveries(webhook!, keeper)).map(({ state, attempts }) => [state, attempts.at(-1)?.error])).toEqual([
      ['delivered', undefined],
      ['failed', expect.stringContaining('no longer selects')],
    ]);
  });

  it('can be changed, and a replay uses the current types (slow)', async () => {
    await shop.addReplica();
    const receiver = await Receiver.start();
    receivers.push(receiver);
    const webhook = await shop.create(receiver.url);
    const events = shop.happen(...life(1));
    await got(receiver, events.filter((one) => typeOf(one) === 'order.status_changed'));
    receiver.received.length = 0;
    expect(await shop.replace(webhook, { eventTypes: ['order.shipped', 'order.placed'] })).toMatchObject({ eventTypes: ['order.shipped', 'order.placed'] });
    const replay = await shop.call(notifications.replayEvents, { webhookId: webhook.id, replay: {} }, customer(1));
    expect(replay).toEqual({ scheduled: 2 });
    await got(receiver, events.filter((one) => ['order.shipped', 'order.placed'].includes(typeOf(one))));
    // Without types the endpoint gets the default type again.
    const replaced = await shop.call(notifications.replaceWebhook, { webhookId: webhook.id, webhook: { url: receiver.url } }, customer(1));
    expect(replaced.eventTypes).toEqual(['order.status_changed']);
  });

  it.each([[[]], [['order.unknown']], [['order.placed', 'order.placed']], ['order.placed'], [[7]]])('that do not exist are refused: %j (slow)', async (types) => {
    await shop.addReplica();
    const webhook = { url: 'http://127.0.0.1:1/hook', eventTypes: types as never };
    await expect(shop.call(notifications.createWebhook, { webhook }, customer(1))).rejects.toMatchObject({
      code: 'invalid-input',
      details: { errors: [expect.objectContaining({ pointer: expect.stringMatching(/^\/webhook\/eventTypes/) })] },
    });
  });

  it('are sent once when the feed gives an event another number (slow)', async () => {
    await shop.addReplica();
    const everything = await receiverOf(orderTypes);
    const [placed, ...others] = shop.happen(...life(1));
    await got(everything, [placed!, ...others]);
    shop.happenAgain(placed!);
    await shop.webhooksHaveFollowed();
    const [last] = shop.happen({ orderId: 2 });
    await got(everything, [placed!, ...others, last!]);
  });
});
