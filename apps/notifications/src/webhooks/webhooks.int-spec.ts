import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { notifications } from '@plant-shop/contracts/notifications';
import { until } from '@plant-shop/testing/until';
import { Webhook } from 'standardwebhooks';
import { customer, Receiver, TestWebhooks } from './webhooks.spec.fixture.js';

describe('webhooks', () => {
  let shop: TestWebhooks;
  let receiver: Receiver;
  beforeAll(async () => {
    shop = await TestWebhooks.start();
  });
  afterAll(() => shop.stop());
  beforeEach(async () => {
    receiver = await Receiver.start();
  });
  afterEach(() => receiver.stop());

  it('bring an event to its receiver, signed, with the bytes of the stream', async () => {
    const { secret, ...webhook } = await shop.create(receiver.url, { description: 'To the warehouse' });
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const [event] = shop.happen({ orderId: 11 });
    await until(() => receiver.received.length === 1);
    const [{ body, headers, path }] = receiver.received as [Receiver['received'][0]];
    expect({ path, body }).toEqual({ path: '/hook', body: event!.body });
    expect(headers).toMatchObject({
      'webhook-id': event!.id,
      'content-type': 'application/json',
      'user-agent': 'plant-shop-webhooks/1',
    });
    expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(event!.body));
    await until(async () => (await shop.deliveries(webhook))[0]?.state === 'delivered');
    expect(await shop.deliveries(webhook)).toEqual([
      {
        id: expect.any(Number),
        eventId: event!.id,
        orderId: 11,
        state: 'delivered',
        attempts: [{ at: expect.any(String), status: 204, durationMs: expect.any(Number) }],
      },
    ]);
  });

  it('are read and listed as they were created, without the secret', async () => {
    const principal = customer(2);
    const { secret, ...webhook } = await shop.create(receiver.url, { orderId: 5, plantId: 7 }, principal);
    expect(secret).toMatch(/^whsec_/);
    expect(await shop.call(notifications.getWebhook, { webhookId: webhook.id }, principal)).toEqual(webhook);
    expect(await shop.call(notifications.listWebhooks, {}, principal)).toEqual([webhook]);
  });
});
