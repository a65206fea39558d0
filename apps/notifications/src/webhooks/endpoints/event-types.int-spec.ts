import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type EventType, eventTypes } from '@plant-shop/contracts/events';
import { notifications } from '@plant-shop/contracts/notifications';
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
    expect([...receiver.ids].sort()).toEqual(expected.map(({ id }) => id));
  };

  it('are those that the endpoint subscribes to, in order per order', async () => {
    await shop.addReplica();
    const [placed, everything, ofAll] = [
      await receiverOf(['order.placed']),
      await receiverOf([...eventTypes]),
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

  it('can be changed, and a replay uses the current types', async () => {
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

  it.each([[[]], [['order.unknown']], [['order.placed', 'order.placed']], ['order.placed'], [[7]]])('that do not exist are refused: %j', async (types) => {
    await shop.addReplica();
    const webhook = { url: 'http://127.0.0.1:1/hook', eventTypes: types as never };
    await expect(shop.call(notifications.createWebhook, { webhook }, customer(1))).rejects.toMatchObject({
      code: 'invalid-input',
      details: { errors: [expect.objectContaining({ pointer: expect.stringMatching(/^\/webhook\/eventTypes/) })] },
    });
  });

  it('are sent once when the feed gives an event another number', async () => {
    await shop.addReplica();
    const everything = await receiverOf([...eventTypes]);
    const [placed, ...others] = shop.happen(...life(1));
    await got(everything, [placed!, ...others]);
    shop.happenAgain(placed!);
    await shop.webhooksHaveFollowed();
    const [last] = shop.happen({ orderId: 2 });
    await got(everything, [placed!, ...others, last!]);
  });
});
