import { describe, expect, it } from '@jest/globals';
import { Receiver } from '@plant-shop/testing/receiver';
import { allReady, kill } from './internals.js';
import { createPlant, ok, placeOrder, send, staff, until } from './shop.js';

interface Event {
  readonly data: { readonly orderId: number; readonly newStatus: string };
}

describe('when notifications is killed repeatedly while orders are placed', () => {
  it('webhooks get every event, in sequence per order; repetitions have the same id and bytes', async () => {
    const orders = 100;
    const { id: plantId } = await createPlant({ quantity: orders });
    const receiver = await Receiver.start();
    const json = { url: receiver.url, eventTypes: ['order.status_changed'], plantId };
    const { id: webhookId } = await ok(send<{ id: string }>('POST', '/v3/webhooks', { as: staff, json }));
    try {
      const ids: number[] = [];
      for (let n = 0; n < orders; n++) {
        if (n % 30 === 10) kill('notifications');
        ids.push((await placeOrder({ plantId })).id);
      }
      await allReady();
      await until(async () => new Set(receiver.received.map(({ id }) => id)).size >= 2 * orders, 90_000);

      const byId = Map.groupBy(receiver.received, ({ id }) => id);
      expect(byId.size).toBe(2 * orders);
      for (const posts of byId.values()) expect(new Set(posts.map(({ body }) => body)).size).toBe(1);
      const first = [...byId.values()].map(([post]) => (JSON.parse(post!.body) as Event).data);
      const byOrder = Map.groupBy(first, ({ orderId }) => orderId);
      expect(new Set(byOrder.keys())).toEqual(new Set(ids));
      for (const events of byOrder.values()) expect(events.map(({ newStatus }) => newStatus)).toEqual(['approved', 'delivered']);
    } finally {
      await send('DELETE', `/v3/webhooks/${webhookId}`, { as: staff });
      await receiver.stop();
    }
  }, 180_000);
});
